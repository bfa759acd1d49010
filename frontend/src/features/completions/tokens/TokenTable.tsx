import type { Completion } from "@/api/completions";
import { number, percent } from "@/lib/format";
import { named } from "../text";
import styles from "./Tokens.module.css";
import { useMore } from "./use-more";

/** The same as the strip, for those who would rather read numbers. */
export function TokenTable({ completion }: { completion: Completion }) {
  const { tokens = [], token_ids: ids = [], entropies = [] } = completion;
  const { sampler_logprobs: sampler = [], trainer_logprobs: trainer = [], mask } = completion;
  const { visible, sentinel } = useMore(tokens.length, 200);
  return (
    <section className={styles.table} aria-label="Tokens as a table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Token</th>
            <th scope="col">Text</th>
            <th scope="col">ID</th>
            <th scope="col">Log-prob, nat</th>
            <th scope="col">Probability</th>
            <th scope="col">Entropy, nat</th>
            <th scope="col">Trainer log-prob, nat</th>
            <th scope="col">Gap, nat</th>
          </tr>
        </thead>
        <tbody>
          {tokens.slice(0, visible).map((token, i) => {
            const own = mask?.[i] !== false;
            const [mine, other] = own ? [sampler[i], trainer[i]] : [];
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: the place is the name of a token
              <tr key={i}>
                <th scope="row">{i + 1}</th>
                <td>
                  <code dir="auto">{named(token)}</code>
                </td>
                <td>{ids[i]}</td>
                <td>{number(mine)}</td>
                <td>{mine === undefined ? number(null) : percent(Math.exp(mine))}</td>
                <td>{number(own ? entropies[i] : null)}</td>
                <td>{number(other)}</td>
                <td>{mine === undefined || other === undefined ? number(null) : number(other - mine)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <span ref={sentinel} aria-hidden="true" />
    </section>
  );
}
