import type { Completion } from "@/api/completions";
import { percent } from "@/lib/format";
import { head, visible } from "../text";
import { Conversation } from "./Conversation";
import styles from "./Conversation.module.css";
import { branchTitle } from "./conversation";

/** Characters of a prompt that are drawn. */
const LONGEST = 2_000;

type Branch = NonNullable<Completion["branches"]>[number];
type Props = { branches: readonly Branch[]; words: readonly string[]; fold: boolean };

/** The last message that begins the conversation, which is what a sub-agent or a rewritten history was sent. */
function Prompt({ branch }: { branch: Branch }) {
  const last = (branch.prompt_messages ?? []).at(-1) as { role?: string; content?: unknown } | undefined;
  if (!last) return null;
  const text = typeof last.content === "string" ? last.content : JSON.stringify(last.content ?? "");
  return (
    <div className={styles.prompt}>
      <small>{last.role}</small>
      <pre dir="auto">{visible(text.length > LONGEST ? `${head(text, LONGEST)} …` : text)}</pre>
    </div>
  );
}

/** The other conversations of a rollout, which were trained with the completion and have its advantage. */
export function Branches({ branches, words, fold }: Props) {
  return (
    <>
      {branches.map((branch) => (
        <details key={branch.branch} className={styles.branch}>
          <summary title="Trained with this completion: same reward and advantage, weighted by its number of tokens">
            {branchTitle(branch)} <span>{percent(branch.share)} of trained tokens</span>
          </summary>
          <Prompt branch={branch} />
          <Conversation
            turns={branch.conversation ?? []}
            words={words}
            fold={fold}
            open={false}
            differs={null}
          />
        </details>
      ))}
    </>
  );
}
