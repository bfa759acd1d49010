import type { ReactNode } from "react";
import page from "@/components/FormPage.module.css";

type Props = { id: string; title: string; about?: ReactNode; children: ReactNode };

/** One part of the form: what is decided here, and why it matters. */
export function Section({ id, title, about, children }: Props) {
  return (
    <section className={page.part} aria-labelledby={`part-${id}`}>
      <h2 id={`part-${id}`}>{title}</h2>
      {about && <p>{about}</p>}
      {children}
    </section>
  );
}
