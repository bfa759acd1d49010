/** Conversations of a group: how they differ, and whose their tokens are. */
import type { Completion } from "@/api/completions";

export type Turn = NonNullable<Completion["conversation"]>[number];

/** What a turn says; its times differ between equal turns. */
export const turnKey = (turn: Turn) =>
  JSON.stringify([
    turn.text,
    turn.calls?.map(({ name, status, result }) => [name, status, result]),
    turn.reply && [turn.reply.status, turn.reply.text, turn.reply.ended],
  ]);

/** Number of the first turn that is not the same in all conversations; null if there is none. */
export function firstDifference(conversations: readonly (readonly Turn[])[]): number | null {
  const [head, ...others] = conversations;
  if (!head || others.length === 0) return null;
  const most = Math.max(...conversations.map((turns) => turns.length));
  const key = (turn: Turn | undefined) => turn && turnKey(turn);
  for (let at = 0; at < most; at += 1)
    if (others.some((turns) => key(turns[at]) !== key(head[at]))) return at;
  return null;
}

export type Span = { policy: boolean; tokens: number; turn: number };

/** The tokens of a completion by author, in order: turns of the policy, and what follows each until the next. */
export function spansOf(turns: readonly Turn[]): Span[] {
  return turns.flatMap((turn, at) => {
    const until = turns[at + 1]?.start ?? turn.end;
    const own: Span = { policy: true, tokens: turn.end - turn.start, turn: turn.no };
    const foreign: Span = { policy: false, tokens: until - turn.end, turn: turn.no };
    return [own, foreign].filter(({ tokens }) => tokens > 0);
  });
}

const REASONS: Record<string, string> = {
  first: "from the start",
  fork: "fork",
  sampled_again: "same messages, sampled again",
  history_rewritten: "rewritten history",
  reasoning_dropped: "history without reasoning",
  system_message: "system message added",
  tools_changed: "other tools",
  sub_agent: "sub-agent",
};

/** Heading of another conversation of a rollout; numbers begin at 1, as the program began them. */
export function branchTitle(branch: { branch: number; reason?: string | null }): string {
  const reason = branch.reason && (REASONS[branch.reason] ?? branch.reason);
  return `Conversation ${branch.branch + 1}${reason ? `: ${reason}` : ""}`;
}

/** The completion with the tokens of another conversation of its rollout; null: its own. */
export function conversationOf(completion: Completion, branch: number | null): Completion {
  const other = completion.branches?.find((candidate) => candidate.branch === branch);
  return other ? { ...completion, ...other } : completion;
}
