import { expect, it } from "vitest";
import { baseName, guides } from "./use-adapter";

it.each([
  [{ id: "qwen", source: "hub:Qwen/Qwen3-0.6B@abc" }, "Qwen/Qwen3-0.6B"],
  [{ id: "qwen", source: "/models/qwen" }, "/models/qwen"],
  [{ id: "starter-arith", source: "builtin:starter-arith" }, "path/to/starter-arith"],
])("names the base for other programs: %o", (model, name) => expect(baseName(model, "id")).toBe(name));

it("takes the job's own name while the model is not known", () => {
  expect(baseName(undefined, "qwen")).toBe("qwen");
});

it("writes commands that a shell takes as they are", () => {
  const [cli, peft, vllm] = guides("/my models/it's", "ftjob-1", 12);
  expect(cli?.text).toBe("reinforge adapter download ftjob-1 --to adapter\n");
  expect(peft?.text).toContain('from_pretrained("/my models/it\'s")');
  expect(vllm?.text).toContain("vllm serve '/my models/it'\\''s' --enable-lora --max-lora-rank 16 ");
});
