import { expect, it } from "vitest";
import { distinctNames } from "./distinct-names";

it("tells things of one name apart by the end of their ids", () => {
  const names = distinctNames([
    { id: "adp_aaaa1111", name: "sums" },
    { id: "adp_bbbb2222", name: "sums" },
    { id: "adp_cccc3333", name: "words" },
  ]);
  expect([...names.values()]).toEqual(["sums (…1111)", "sums (…2222)", "words"]);
});
