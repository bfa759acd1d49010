import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { copyAs, python } from "./copy-as";

const SOURCE = `def grade(sample, item):\n    return item["it's $HOME"] == '"\\\\d'\n`;
const SPEC = {
  model: "starter-arith",
  data: { dataset: "file-1", prompt_template: "{a}+{b}=\nYAML\nJSON" },
  rewards: [{ type: "python", source: SOURCE, name: "correct" }],
  optimizer: { learning_rate: 1e-8 },
  metadata: { "a key": "yes", flag: "`rm -rf`" },
};

/** Arguments that a shell passes to the last program. */
function inShell(script: string): string {
  return execFileSync("bash", ["-c", script], { encoding: "utf8" });
}

describe("copyAs", () => {
  it("gives curl the exact document, whatever a shell would make of it", () => {
    const script = copyAs("curl", SPEC).replace(/^curl[\s\S]*?@- /, "cat ");
    expect(JSON.parse(inShell(script))).toEqual(SPEC);
  });

  it("gives the command line the same file as the YAML format", () => {
    const [made = ""] = copyAs("cli", SPEC).split("reinforge job create -f job.yaml --wait");
    expect(inShell(made.replace("cat > job.yaml", "cat"))).toBe(copyAs("yaml", SPEC));
  });

  it("starts a sweep by its own command, method and path", () => {
    const sweep = { method: "grid", parameters: { "rewards[0].weight": [0.5, 1] }, job: SPEC };
    const [made = ""] = copyAs("cli", sweep, "sweep").split("reinforge sweep sweep.yaml --wait");
    expect(inShell(made.replace("cat > sweep.yaml", "cat"))).toBe(copyAs("yaml", sweep));
    expect(copyAs("python", sweep, "sweep")).toContain("sweep = client.sweeps.create(");
    expect(copyAs("curl", sweep, "sweep")).toContain("/api/v1/sweeps");
  });

  it("writes Python that says the same", () => {
    expect(copyAs("python", { ...SPEC, rewards: [{ source: "a = 1\nb = 2\n" }], seed: 3 })).toBe(
      `from reinforge.client import Reinforge

client = Reinforge()  # REINFORGE_URL and REINFORGE_API_KEY
job = client.jobs.create(
    {
        "model": "starter-arith",
        "data": {
            "dataset": "file-1",
            "prompt_template": (
                "{a}+{b}=\\n"
                "YAML\\n"
                "JSON"
            ),
        },
        "rewards": [
            {
                "source": (
                    "a = 1\\n"
                    "b = 2\\n"
                ),
            },
        ],
        "optimizer": {"learning_rate": 1e-8},
        "metadata": {"a key": "yes", "flag": "\`rm -rf\`"},
        "seed": 3,
    }
)
job = client.jobs.wait(job.id)
`,
    );
  });

  it("knows Python's words", () => {
    expect(python({ a: null, b: [true, false], c: "x\n" })).toBe(
      '{"a": None, "b": [True, False], "c": "x\\n"}',
    );
  });
});
