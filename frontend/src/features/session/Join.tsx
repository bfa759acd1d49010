import { Button, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAcceptInvitation, useInvitationOffer } from "@/api/account";
import { Brand } from "@/components/Brand";
import { Failure } from "@/components/Failure";
import styles from "./SignIn.module.css";

/** Accepts an invitation for the signed-in person or a new one. */
export function Join({ token, onDone }: { token: string; onDone: () => void }) {
  const [name, setName] = useState("");
  const offer = useInvitationOffer(token);
  const accept = useAcceptInvitation();
  const account = offer.data?.signed_in_as;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    accept.mutate({ token, name: account ? undefined : name.trim() }, { onSuccess: onDone });
  };
  return (
    <main className={styles.page}>
      <title>Join a project · Reinforge</title>
      <form className={styles.card} onSubmit={submit}>
        <Brand />
        <h1>{offer.data ? `Join ${offer.data.project_name}` : "Join a project"}</h1>
        {offer.error && <Failure title="This invitation is not valid" error={offer.error} />}
        {offer.data && (
          <>
            <p>
              You are invited as {offer.data.role}.{" "}
              {account ? `You join as ${account}, the signed-in account.` : "Enter your name."}
            </p>
            {!account && (
              <TextInput
                label="Name"
                description="Shown with the jobs you start."
                required
                maxLength={100}
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
            )}
            {accept.error && <Failure title="Could not join the project" error={accept.error} />}
            <Button type="submit" loading={accept.isPending} disabled={!account && !name.trim()}>
              Join
            </Button>
          </>
        )}
      </form>
    </main>
  );
}
