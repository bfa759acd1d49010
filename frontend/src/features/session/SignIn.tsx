import { Anchor, Button, PasswordInput, TextInput } from "@mantine/core";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { usePasswordSignIn } from "@/api/account";
import { useSignIn } from "@/api/session";
import { Brand } from "@/components/Brand";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import styles from "./SignIn.module.css";

type Props = {
  /** The one-time token of a link. */
  token: string | undefined;
  /** Whether a session has just ended under the person's hands. */
  ended: boolean;
  onDone: () => void;
};

const SHORTEST = 8;

/** Signs in with the one-time token of the address, or with a pasted API key. */
export function SignIn({ token, ended, onDone }: Props) {
  const [key, setKey] = useState("");
  const [email, setEmail] = useState("");
  const [byPassword, setByPassword] = useState(false);
  const withPassword = usePasswordSignIn();
  const { mutate, isPending, error, variables } = useSignIn();
  const tried = useRef<string | null>(null);
  const byLink = token !== undefined && variables === token;

  useEffect(() => {
    if (!token || tried.current === token) return;
    tried.current = token;
    mutate(token, { onSuccess: onDone });
  }, [token, mutate, onDone]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (byPassword) withPassword.mutate({ email, password: key }, { onSuccess: onDone });
    else mutate(key.trim(), { onSuccess: onDone });
  };

  const failure = () => {
    if (byPassword && withPassword.error)
      return <Failure title="Could not sign in" error={withPassword.error} />;
    if (error && byLink && "status" in error && error.status === 401) {
      return (
        <Notice tone="warn" title="This link is no longer valid">
          {error.message} {"hint" in error && String(error.hint ?? "")}
        </Notice>
      );
    }
    if (error) return <Failure title="Could not sign in" error={error} />;
    if (ended) {
      return (
        <Notice tone="info" title="Your session has ended">
          Sign in to go back to where you were.
        </Notice>
      );
    }
    return null;
  };

  return (
    <main className={styles.page}>
      <title>Sign in · Reinforge</title>
      <form className={styles.card} onSubmit={submit}>
        <Brand />
        <h1>Sign in</h1>
        {failure()}
        <p>
          Open the link that <code>reinforge up</code> printed or that an owner sent you, or paste an API key.
          The key is sent once; the browser then uses a session.
        </p>
        {byPassword && (
          <TextInput
            label="E-mail address"
            type="email"
            autoComplete="username"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
        )}
        <PasswordInput
          label={byPassword ? "Password" : "API key"}
          placeholder={byPassword ? undefined : "rf-…"}
          autoComplete="current-password"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <Button
          type="submit"
          loading={isPending || withPassword.isPending}
          disabled={key.trim().length < SHORTEST && !isPending}
        >
          Sign in
        </Button>
        <Anchor component="button" type="button" size="sm" onClick={() => setByPassword(!byPassword)}>
          {byPassword ? "Sign in with an API key" : "Sign in with e-mail and password"}
        </Anchor>
      </form>
    </main>
  );
}
