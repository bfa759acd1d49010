import type { NotificationsProps } from "@mantine/notifications";
import { type ComponentType, lazy, Suspense, useEffect, useState } from "react";
import { beforeToast, toastCode } from "@/lib/toast";

const NoToasts = () => null;
const Notifications = lazy(
  (): Promise<{ default: ComponentType<NotificationsProps> }> =>
    toastCode().then(
      (code) => ({ default: code.Notifications }),
      () => ({ default: NoToasts }),
    ),
);

/** Toasts at the lower right. The first press of a button or key loads their code: the server may be away later. */
export function Toasts() {
  const [active, setActive] = useState(false);
  useEffect(() => {
    const activate = () => setActive(true);
    const ends = [beforeToast(activate)];
    for (const type of ["pointerdown", "keydown"]) {
      window.addEventListener(type, activate, { once: true, capture: true });
      ends.push(() => window.removeEventListener(type, activate, { capture: true }));
    }
    return () => {
      for (const end of ends) end();
    };
  }, []);
  return <Suspense>{active && <Notifications position="bottom-right" />}</Suspense>;
}
