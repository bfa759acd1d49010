import type { Deployment } from "@/api/deployments";
import type { Snippet } from "@/components/Snippets";

const shell = (text: string) => (/^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Code to call a deployment and to serve its weights elsewhere. `origin`: of this server. */
export function snippets(one: Deployment, origin: string): Snippet[] {
  const body = JSON.stringify({ model: one.name, messages: [{ role: "user", content: "12+30=" }] });
  const download = one.adapter
    ? `reinforge adapter download ${shell(one.adapter)} --to ${shell(one.vllm.folder ?? "adapter")}\n`
    : "";
  const template = one.vllm.chat_template;
  const file = template ? `cat > chat_template.jinja <<'END'\n${template.trimEnd()}\nEND\n` : "";
  return [
    {
      key: "curl",
      title: "curl",
      about: "Set REINFORGE_API_KEY to an API key from Settings first.",
      text: [
        `curl ${shell(`${origin}/v1/chat/completions`)} \\`,
        '  -H "Authorization: Bearer $REINFORGE_API_KEY" \\',
        '  -H "Content-Type: application/json" \\',
        `  -d ${shell(body)}`,
        "",
      ].join("\n"),
    },
    {
      key: "python",
      title: "Python (openai)",
      about: "The official SDK: pip install openai.",
      text: [
        "import os",
        "from openai import OpenAI",
        "",
        `client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key=os.environ["REINFORGE_API_KEY"])`,
        "stream = client.chat.completions.create(",
        `    model=${JSON.stringify(one.name)},`,
        '    messages=[{"role": "user", "content": "12+30="}],',
        "    stream=True,",
        ")",
        "for chunk in stream:",
        '    print(chunk.choices[0].delta.content or "", end="")',
        "",
      ].join("\n"),
    },
    {
      key: "vllm",
      title: "vLLM, elsewhere",
      about: one.vllm.notes?.join(" ") || "Serves the same weights without Reinforge.",
      text: `${download}${file}${one.vllm.command}\n`,
    },
  ];
}

/** A name for weights: letters, digits, dots, underscores and dashes; not one of those taken. */
export function suggestedName(title: string, taken: readonly string[]): string {
  const plain =
    title
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-")
      .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "")
      .slice(0, 40) || "adapter";
  let name = plain;
  for (let number = 2; taken.includes(name); number++) name = `${plain}-${number}`;
  return name;
}
