// Writes src/api/schema.gen.ts from the server's own OpenAPI description; `--check` fails when it has drifted.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const target = join(root, "frontend", "src", "api", "schema.gen.ts");
const venv = join(root, ".venv", "bin", "python");
const python = process.env.PYTHON ?? (existsSync(venv) ? venv : "python3");

const description = execFileSync(python, ["-m", "backend", "openapi"], {
  cwd: root,
  encoding: "utf8",
  // The types are of what everybody has; a form reads what installed packages add when it runs.
  env: { ...process.env, REINFORGE_PLUGINS: "off" },
  maxBuffer: 64 * 1024 * 1024,
});
/** Examples of bodies would be comments of a megabyte. */
const withoutExamples = (_key, value) => {
  if (value === null || typeof value !== "object" || !("schema" in value)) return value;
  const { example: _, ...rest } = value;
  return rest;
};
const types =
  COMMENT_HEADER +
  astToString(
    await openapiTS(JSON.parse(description, withoutExamples), { defaultNonNullable: false, silent: true }),
  );

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== types) {
    console.error(
      "src/api/schema.gen.ts differs from the server's OpenAPI. Run `npm run gen` and commit it.",
    );
    process.exit(1);
  }
} else {
  writeFileSync(target, types);
}
