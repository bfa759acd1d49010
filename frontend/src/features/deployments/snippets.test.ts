import { describe, expect, it } from "vitest";
import type { Deployment } from "@/api/deployments";
import { snippets, suggestedName } from "./snippets";

const deployment = {
  name: "sums",
  adapter: "adp_1",
  vllm: { command: "vllm serve m --enable-lora", folder: "./sums", notes: ["Unpack it."] },
} as Deployment;

describe("snippets", () => {
  const text = (key: string) => snippets(deployment, "http://here:1").find((one) => one.key === key)?.text;

  it("name the server and the deployment, and no secret", () => {
    expect(text("curl")).toContain("http://here:1/v1/chat/completions");
    expect(text("curl")).toContain('"model":"sums"');
    expect(text("python")).toContain('base_url="http://here:1/v1"');
    for (const key of ["curl", "python"]) expect(text(key)).toContain("REINFORGE_API_KEY");
  });

  it("download what vLLM is to serve", () => {
    expect(text("vllm")).toBe("reinforge adapter download adp_1 --to ./sums\nvllm serve m --enable-lora\n");
  });

  it("write the chat template that was chosen", () => {
    const vllm = { ...deployment.vllm, chat_template: "{{ messages }}\n" };
    const [snippet] = snippets({ ...deployment, vllm }, "").filter((one) => one.key === "vllm");
    expect(snippet?.text).toContain(
      "\ncat > chat_template.jinja <<'END'\n{{ messages }}\nEND\nvllm serve m ",
    );
  });
});

describe("a suggested name", () => {
  it("is plain and not taken", () => {
    expect(suggestedName("My sums (2)!", [])).toBe("my-sums-2");
    expect(suggestedName("sums", ["sums", "sums-2"])).toBe("sums-3");
    expect(suggestedName("···", [])).toBe("adapter");
  });
});
