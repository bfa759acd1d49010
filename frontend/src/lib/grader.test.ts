import { describe, expect, it } from "vitest";
import jobSpec from "./fixtures/job-spec.json";
import {
  arranged,
  byImportance,
  gated,
  graderNode,
  isGrader,
  itemName,
  labelOf,
  namedParts,
  readGrader,
  renamed,
  shapeOf,
  unknownColumns,
  withoutPart,
  writeGrader,
} from "./grader";
import { firstPython, isFirstPython, retyped, starter, withPart } from "./grader-start";
import { isObject, type JsonObject } from "./paths";
import { type JsonSchema, type Node, resolve, variants } from "./spec-schema";

const root = jobSpec as unknown as JsonSchema;
const of = variants(graderNode(root) as Node, root)?.of ?? {};
const hints = { answer: "the answer", judge: "strict" };
const start = (type: string) => starter(type, of, root, hints);
const shape = (type: string, key: string) =>
  shapeOf(key, resolve((of[type] as Node).properties?.[key] ?? {}, root), root).kind;

describe("the schema of graders", () => {
  it("has every type, each with a title and a description", () => {
    expect(Object.keys(of)).toHaveLength(12);
    for (const node of Object.values(of)) expect(node.description).toBeTruthy();
  });

  it("says what each field is edited as", () => {
    expect(shape("string_check", "input")).toBe("template");
    expect(shape("classifier", "hypothesis")).toBe("template");
    expect(shape("score_model", "input")).toBe("items");
    expect(shape("score_model", "sampling_params")).toBe("object");
    expect(shape("multi", "graders")).toBe("named");
    expect(shape("multi", "calculate_output")).toBe("formula");
    expect(shape("classifier", "labels")).toBe("values");
    expect(shape("python", "source")).toBe("code");
    expect(shape("endpoint", "url")).toBe("leaf");
  });

  it("puts what must be given and templates first, and everything where neither is there", () => {
    expect(byImportance(of.text_similarity as Node, root)).toEqual({
      first: ["input", "reference", "evaluation_metric"],
      more: ["pass_threshold", "name"],
    });
    expect(byImportance(of.program_tests as Node, root).first).toContain("tests");
  });
});

describe("text and object", () => {
  it("tells a grader from Python as the server does", () => {
    expect([isGrader('\ufeff\n {"type": 1}'), isGrader("def grade(): {}"), isGrader("")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("reads what it wrote", () => {
    const grader = start("multi");
    expect(readGrader(writeGrader(grader))).toEqual({ grader });
  });

  it("says where a text is no JSON", () => {
    const read = readGrader('{\n  "type": "multi",\n  "graders" 1\n}');
    expect("fault" in read && [read.fault.line, read.fault.column]).toEqual([3, 13]);
    const open = readGrader('{\n  "type": "multi"');
    expect("fault" in open && open.fault.line).toBe(2);
    expect("fault" in readGrader("[1]")).toBe(true);
  });

  it("keeps the schema's order of keys, the type first", () => {
    const mixed = { reference: "r", odd: 1, operation: "eq", name: "n", input: "i", type: "string_check" };
    expect(Object.keys(arranged(mixed, of.string_check as Node))).toEqual([
      "type",
      "name",
      "input",
      "reference",
      "operation",
      "odd",
    ]);
  });
});

describe("names in templates", () => {
  it("quotes columns that are no words", () => {
    expect([itemName("answer"), itemName("the answer")]).toEqual(["item.answer", 'item["the answer"]']);
  });

  it("finds columns that the rows do not have", () => {
    const text = '{{ item.answer }} {{item["two words"]}} {{ item.gone[0] }} {{ sample.output_text }}';
    expect(unknownColumns(text, ["answer", "two words"])).toEqual(["gone"]);
    expect(unknownColumns(text, [])).toEqual([]);
  });

  it("are labelled with their units", () => {
    expect([labelOf("timeout_s"), labelOf("memory_mib"), labelOf("url"), labelOf("passing_labels")]).toEqual([
      "Timeout (seconds)",
      "Memory (MiB)",
      "URL",
      "Passing labels",
    ]);
  });
});

describe("a new grader", () => {
  it("has everything filled in that is needed and can be told", () => {
    for (const type of Object.keys(of)) {
      const missing = (of[type]?.required ?? []).filter((key) => !(key in start(type)));
      // Only people know where a checkpoint or a server is.
      const unknown = { endpoint: ["url"], classifier: ["model"], reward_model: ["model"] }[type];
      expect([type, missing]).toEqual([type, unknown ?? []]);
    }
    expect(start("string_check").reference).toBe('{{ item["the answer"] }}');
    expect(start("label_model").model).toBe("strict");
  });

  it("keeps what another type of the same kind has, and no judge as checkpoint", () => {
    const old = { type: "string_check", name: "n", input: "a", reference: "b", operation: "like" };
    expect(retyped(old, "text_similarity", of, root, hints)).toEqual({
      type: "text_similarity",
      name: "n",
      input: "a",
      reference: "b",
      evaluation_metric: "fuzzy_match",
    });
    expect(retyped(start("score_model"), "reward_model", of, root, hints).model).toBeUndefined();
    expect(retyped({ ...start("score_model"), model: "mild" }, "label_model", of, root, hints).model).toBe(
      "mild",
    );
  });

  it("becomes the first part of a multi", () => {
    const old = start("text_similarity");
    expect(retyped(old, "multi", of, root, hints)).toEqual({
      type: "multi",
      graders: { text_similarity: old },
      calculate_output: "text_similarity",
    });
  });
});

describe("parts of a multi", () => {
  const part = start("string_check");
  const multi: JsonObject = {
    type: "multi",
    graders: { exact: part, max: part },
    calculate_output: "0.5 * exact + max(max, exact_2)",
    gates: { max: { part: "exact", above: 0.5 } },
  };

  it("are renamed in the formula and the gates too, and functions stay", () => {
    expect(renamed(multi, "exact", "same").calculate_output).toBe("0.5 * same + max(max, exact_2)");
    expect(renamed(multi, "max", "most")).toMatchObject({
      calculate_output: "0.5 * exact + max(most, exact_2)",
      gates: { most: { part: "exact" } },
    });
    expect(renamed(multi, "exact", "same").gates).toEqual({ max: { part: "same", above: 0.5 } });
    expect(Object.keys(renamed(multi, "exact", "same").graders as JsonObject)).toEqual(["same", "max"]);
  });

  it("go with their gates", () => {
    expect(withoutPart(multi, "exact")).toEqual({
      type: "multi",
      graders: { max: part },
      calculate_output: multi.calculate_output,
    });
    expect(gated(multi, "max", null).gates).toBeUndefined();
    expect(gated(multi, "exact", { part: "max" }).gates).toMatchObject({ exact: { part: "max" } });
  });

  it("are added to a formula that is their sum, and to no other", () => {
    const sum = { ...multi, graders: { a: part }, calculate_output: "a" };
    expect(withPart(sum, of, root, hints).calculate_output).toBe("a + exact");
    expect(withPart(multi, of, root, hints).calculate_output).toBe(multi.calculate_output);
  });

  it("are read from a list, and from one grader alone", () => {
    expect(Object.keys(namedParts([{ ...part, name: "a" }, part]))).toEqual(["a", "part_2"]);
    expect(isObject(namedParts({ ...part, name: "a" }).a)).toBe(true);
  });
});

describe("the Python reward to begin with", () => {
  it("reads the declared column and never looks for the answer inside a text", () => {
    expect(firstPython("total")).toContain('item["total"]');
    expect(firstPython()).toContain('item["answer"]');
    expect(firstPython('a "b" \\')).toContain('item["a \\"b\\" \\\\"]');
    expect(firstPython()).not.toMatch(/\bin (sample|text|given)/);
  });
  it("is known for any column until somebody changes it", () => {
    expect(["answer", "total", 'a "b" \\'].map((name) => isFirstPython(firstPython(name)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(isFirstPython(`${firstPython("total")}# mine\n`)).toBe(false);
    expect(isFirstPython("def grade(sample, item):\n    return 1.0\n")).toBe(false);
  });
});
