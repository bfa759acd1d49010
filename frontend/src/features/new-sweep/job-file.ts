import { isObject } from "@/lib/paths";
import { type BaseJob, baseOf } from "./draft";

const MOST_BYTES = 1_000_000;

/** A job file (YAML or JSON) as the base of a sweep. Throws an Error that says what is wrong with it. */
export async function readJobFile(file: File): Promise<BaseJob> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than 1 MB: it is not a job file.`);
  const { load } = await import("js-yaml");
  let spec: unknown;
  try {
    spec = load(await file.text());
  } catch (error) {
    const [line = "It is neither YAML nor JSON."] = String((error as Error).message).split("\n");
    throw new Error(`${file.name}: ${line}`);
  }
  if (!isObject(spec)) throw new Error(`${file.name} is not a job file: it has no fields.`);
  return baseOf({ name: file.name, spec: JSON.parse(JSON.stringify(spec)) });
}
