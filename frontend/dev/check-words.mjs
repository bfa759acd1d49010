// The page's rules of language, run by `npm run check` (CONTRIBUTING.md, "Language"):
//   a declared name says what a value is, not what happened to it; visible strings use the standard terms.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const source = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

/** Participles and `each`: no variable, parameter, function or type may be called so. */
const NAMES = /^(found|told|asked|said|known|kept|wanted|given|shown|seen|heard|each)$/i;

/** Words and phrases that have a plainer or a standard term. */
const WORDS = [
  /\b(anew|mend|mends|mended|whoever|somebody|nobody|told|tells|telling|(?<!Cannot )tell|heard|hears|beside|stands|aside)\b/i,
  /\b(left out|cut off|in all(?=\s*[.,:;]|\s*$)|has to|have to|go on|goes on|going on|is there|are there|worth knowing)\b/i,
  /\b(nothing was|nothing is|not a thing|as it stands|as it is|at once|looks? up)\b/i,
  /\b(slots?|stored reward|pays for|paid|jail)\b/i,
  /^\s*(keep it|take it)\s*$/i,
  /\d \d{3}\b|\d %/,
];

const isDeclaration = (node) =>
  ts.isVariableDeclaration(node) ||
  ts.isParameter(node) ||
  ts.isBindingElement(node) ||
  ts.isFunctionDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isClassDeclaration(node);

/** The text that people may read at this node; null for names, paths, code and CSS. */
function visible(node) {
  if (ts.isJsxText(node)) return node.text;
  const literal = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node);
  if (!literal && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node)) return null;
  if (ts.isImportDeclaration(node.parent) || ts.isLiteralTypeNode(node.parent)) return null;
  return /\s/.test(node.text) && /[a-z]/i.test(node.text) ? node.text : null;
}

const problems = [];
const files = readdirSync(source, { recursive: true }).filter(
  (name) => /\.tsx?$/.test(name) && !name.endsWith(".gen.ts"),
);
for (const name of files) {
  const text = readFileSync(join(source, name), "utf8");
  const kind = name.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, kind);
  const line = (node) => file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
  const visit = (node) => {
    if (isDeclaration(node) && node.name && ts.isIdentifier(node.name) && NAMES.test(node.name.text))
      problems.push(
        `${name}:${line(node.name)}: the name "${node.name.text}" does not say what the value is`,
      );
    const words = /\.test\.tsx?$/.test(name) ? null : visible(node);
    for (const pattern of words === null ? [] : WORDS) {
      const [match] = pattern.exec(words) ?? [];
      if (match) problems.push(`${name}:${line(node)}: "${match}" in a visible string: "${words.trim()}"`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}

for (const problem of problems) console.error(problem);
console.log(`${files.length} files, ${problems.length} broken rules of language`);
process.exit(problems.length ? 1 : 0);
