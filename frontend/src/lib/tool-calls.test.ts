import { describe, expect, it } from "vitest";
import { argumentsOf } from "./tool-calls";

describe("arguments of a call", () => {
  it("have a line for each name, with strings as they are", () => {
    expect(argumentsOf('{"query": "a\\n\\"b\\"", "count": 3, "tags": ["x", null]}')).toEqual([
      { name: "query", value: 'a\n"b"' },
      { name: "count", value: "3" },
      { name: "tags", value: '["x",null]' },
    ]);
    expect(argumentsOf("{}")).toEqual([]);
  });

  it("that are no JSON object have none", () => {
    for (const text of ["{not JSON", "[1]", "null", '"a"', ""]) expect(argumentsOf(text)).toBeNull();
  });
});
