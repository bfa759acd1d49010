import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type BrowserSession, sessionsQuery, useEndSession, useUpdateAccount } from "@/api/account";
import { meQuery } from "@/api/session";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { ago } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "./Settings.module.css";

const SHORTEST = 10;

function Password({ email, has }: { email: string; has: boolean }) {
  const [address, setAddress] = useState(email);
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const update = useUpdateAccount();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { email: address.trim(), password, current_password: has ? current : undefined };
    const done = () => {
      setCurrent("");
      setPassword("");
      toastDone("The password is set. Other browsers are signed out.");
    };
    // The promise, because a changed address remounts this form. `update.error` has a refusal.
    void update.mutateAsync(body).then(done, () => undefined);
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextInput
        label="E-mail address"
        description="Used to sign in. It receives e-mail only after you confirm it below."
        type="email"
        autoComplete="username"
        value={address}
        onChange={(event) => setAddress(event.currentTarget.value)}
      />
      {has && (
        <PasswordInput
          label="Current password"
          autoComplete="current-password"
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
        />
      )}
      <PasswordInput
        label="New password"
        description={`At least ${SHORTEST} characters.`}
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {update.error && <Failure title="Could not save the account" error={update.error} />}
      <div className={styles.bar}>
        <Button
          type="submit"
          variant="default"
          loading={update.isPending}
          disabled={password.length < SHORTEST || !address.trim()}
        >
          {has ? "Change password" : "Set password"}
        </Button>
      </div>
    </form>
  );
}

const columns = (onEnd: (id: string) => void): Column<BrowserSession>[] => [
  {
    head: "Browser",
    grow: true,
    cell: (one) => (
      <>
        {one.agent ?? "unknown"} {one.current && <span className={styles.none}>(this one)</span>}
      </>
    ),
  },
  { head: "Last seen", align: "right", hide: "narrow", cell: (one) => ago(one.last_seen_at) },
  {
    head: "Action",
    align: "right",
    cell: (one) =>
      !one.current && (
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`Sign out ${one.agent ?? "this browser"}`}
          onClick={() => onEnd(one.id)}
        >
          Sign out
        </Button>
      ),
  },
];

/** One's password, and the browsers in which one is signed in. */
export function Account() {
  const me = useQuery(meQuery).data;
  const sessions = useQuery({ ...sessionsQuery, enabled: Boolean(me?.user) });
  const end = useEndSession();
  if (!me) return null;
  if (!me.user)
    return (
      <Notice tone="info" title="An API key has no account">
        This browser is signed in with the key {me.name}.
      </Notice>
    );
  return (
    <>
      <Password key={me.email ?? ""} email={me.email ?? ""} has={me.has_password ?? false} />
      <DataTable
        label="Signed-in browsers"
        columns={columns((id) => end.mutate(id))}
        rows={sessions.data?.data}
        rowKey={(one) => one.id}
        expected={1}
      />
    </>
  );
}
