import { Button, PasswordInput } from "@mantine/core";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useSignIn } from "@/api/session";
import { Brand } from "@/components/Brand";
import { Notice } from "@/components/Notice";
import styles from "./SignIn.module.css";

/** Signs in with the one-time token of the address, or with a pasted API key. */
export function SignIn({ token, onDone }: { token: string | undefined; onDone: () => void }) {
  const [key, setKey] = useState("");
  const { mutate, isPending, error } = useSignIn();
  const tried = useRef<string | null>(null);

  useEffect(() => {
    if (!token || tried.current === token) return;
    tried.current = token;
    mutate(token, { onSuccess: onDone });
  }, [token, mutate, onDone]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate(key.trim(), { onSuccess: onDone });
  };

  return (
    <main className={styles.page}>
      <title>Sign in · Reinforge</title>
      <form className={styles.card} onSubmit={submit}>
        <Brand />
        <h1>Sign in</h1>
        <p>
          Open the link that <code>reinforge up</code> printed, or paste an API key. The key is sent once; the
          browser then keeps a session.
        </p>
        {error && (
          <Notice tone="bad" title="Not signed in">
            {error.message} {"hint" in error && error.hint ? String(error.hint) : ""}
          </Notice>
        )}
        <PasswordInput
          label="API key"
          placeholder="rf-…"
          autoComplete="current-password"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <Button type="submit" loading={isPending} disabled={key.trim().length < 8 && !isPending}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
