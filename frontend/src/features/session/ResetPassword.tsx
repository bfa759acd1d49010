import { Button, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useResetPassword } from "@/api/account";
import { Brand } from "@/components/Brand";
import { Failure } from "@/components/Failure";
import styles from "./SignIn.module.css";

const SHORTEST = 10;

/** Sets a password with a one-time address, and signs in. */
export function ResetPassword({ token, onDone }: { token: string; onDone: () => void }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const reset = useResetPassword();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    reset.mutate({ token, password, email: email.trim() || undefined }, { onSuccess: onDone });
  };
  return (
    <main className={styles.page}>
      <title>Set a password · Reinforge</title>
      <form className={styles.card} onSubmit={submit}>
        <Brand />
        <h1>Set a password</h1>
        <p>This signs you out in all other browsers.</p>
        {reset.error && <Failure title="Could not set the password" error={reset.error} />}
        <TextInput
          label="E-mail address"
          description="Required if you have none yet. Leave empty to keep the current address."
          type="email"
          autoComplete="username"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label="New password"
          description={`At least ${SHORTEST} characters.`}
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button type="submit" loading={reset.isPending} disabled={password.length < SHORTEST}>
          Set password
        </Button>
      </form>
    </main>
  );
}
