/** `weir audit verify`: checks an exported audit trail against the daily roots, without a server. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type AuditEntryWire, type AuditRoot, type ChainVerification, verifyAudit } from "../access/audit/verify.ts";
import { CliFault } from "./console.ts";

export const usage = `weir audit verify <file> [--roots <file or folder>]

Verifies an export of the audit trail (GET /api/v1/audit-log?format=ndjson) offline: each entry must have its own hash and
follow the one before, and each daily root must be the hash of its entry.

  --roots <path>   the objects below audit-roots/ of the bucket weir-exports: a folder with them, or one file

It fails when an entry was changed, removed, added or moved. Without roots it cannot see whether the newest entries are missing.`;

export async function run(argv: string[]): Promise<number> {
  const options = { roots: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: argv, allowPositionals: true, options });
  const [verb, file, ...more] = positionals;
  if (verb !== "verify" || file === undefined || more.length > 0) throw new CliFault(usage);
  const entries = readLines<AuditEntryWire>(file, "seq");
  if (entries.length === 0) throw new CliFault(`${file} has no entries.`);
  const roots =
    values.roots === undefined ? [] : listFiles(values.roots).flatMap((one) => readLines<AuditRoot>(one, "day"));
  const chains = verifyAudit(entries, roots);
  for (const chain of chains) console.log(describeChain(chain));
  return chains.some(({ faults }) => faults.length > 0) ? 1 : 0;
}

function describeChain({ workspaceId, entries, first, last, roots, faults }: ChainVerification): string {
  const name = workspaceId === null ? "the deployment" : `workspace ${workspaceId}`;
  if (faults.length === 0) return `${name}: ${entries} entries (${first} to ${last}) and ${roots} roots are intact.`;
  return [`${name}: NOT INTACT`, ...faults.map((fault) => `  ${fault}`)].join("\n");
}

function listFiles(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".json")).map((name) => join(path, name));
  } catch {
    throw new CliFault(`${path} cannot be read.`);
  }
}

/** The values of a file of JSON lines. Each has the member `needed`. */
function readLines<T>(file: string, needed: string & keyof T): T[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new CliFault(`${file} cannot be read.`);
  }
  return text.split("\n").flatMap((line, place) => {
    if (line.trim() === "") return [];
    try {
      const value = JSON.parse(line) as T;
      if (typeof value === "object" && value !== null && needed in value) return [value];
    } catch {
      // The same as another value.
    }
    throw new CliFault(`${file}, line ${place + 1}: expected JSON with "${needed}".`);
  });
}
