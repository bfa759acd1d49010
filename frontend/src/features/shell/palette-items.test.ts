import { describe, expect, it } from "vitest";
import { arrange, type Item, ROOMS, tabsOf } from "./palette-items";

const job = (n: number, label = `Job ${n}`): Item => ({
  id: `ftjob-${n}`,
  group: "Jobs",
  label,
  also: `ftjob-${n}`,
});
const action: Item = { id: "new-job", group: "Actions", label: "New job" };
const dataset: Item = { id: "file-1", group: "Datasets", label: "additions.jsonl" };
const ids = (query: string, items: Item[]) => arrange(query, items).map(({ id }) => id);

describe("arrange", () => {
  it("shows actions, rooms and the newest jobs before anything is typed, not every dataset", () => {
    expect(ids("", [job(1), dataset, action])).toEqual(["new-job", "ftjob-1"]);
  });

  it("finds a dataset by a word of its name, and a job by its id", () => {
    expect(ids("addi", [job(1), dataset])).toEqual(["file-1"]);
    expect(ids("ftjob-2", [job(1), job(2)])[0]).toBe("ftjob-2");
  });

  it("keeps the best few of a group", () => {
    const many = Array.from({ length: 20 }, (_, n) => job(n));
    expect(ids("job", many)).toHaveLength(8);
  });

  it("finds rooms by what people call them elsewhere", () => {
    expect(ids("home", ROOMS)[0]).toBe("go-start");
  });
});

describe("tabsOf", () => {
  it("offers the tabs of the job on screen", () => {
    expect(tabsOf("/jobs/ftjob-a").map(({ to }) => to)).toContain("/jobs/ftjob-a?tab=logs");
  });

  it("offers none elsewhere", () => {
    expect([...tabsOf("/jobs"), ...tabsOf("/jobs/new"), ...tabsOf("/datasets/file-a")]).toEqual([]);
  });
});
