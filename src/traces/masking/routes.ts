/** The masking rules of a workspace: `/api/v1/masking-rules`. */
import * as v from "valibot";
import { Id, Uuid } from "../../http/shapes.ts";
import { isObject, parseExact } from "../../lib/json.ts";
import { eachRun } from "../query/find.ts";
import { LARGE_FIELDS, type QueriedRun } from "../types.ts";
import { Masker } from "./masker.ts";
import { maskText, type MaskRule, MaskRules } from "./schema.ts";
import { Hono } from "hono";
import { requirePermission } from "../../access/auth/roles.ts";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body } from "../../http/validate.ts";
import { forgetMaskers, readRules, writeRules } from "./store.ts";

// What rules would do to the newest runs of a workspace. Nothing is changed.

const RUNS = 100;
const EXAMPLES = 20;
const SHOWN = 200;

const Example = v.object({ run_id: Id, path: v.string(), before: v.string(), after: v.string() });
type Example = v.InferOutput<typeof Example>;

export type Preview = v.InferOutput<typeof Preview>;
export const Preview = v.pipe(
  v.object({
    /** How many runs were read: the newest of the workspace, or of the project. */
    runs: v.number(),
    masked_runs: v.number(),
    /** By the text that is stored: in how many runs, and how often. */
    marks: v.record(v.string(), v.object({ runs: v.number(), values: v.number() })),
    examples: v.array(Example),
  }),
  v.title("MaskingPreview"),
);

export async function previewRules(
  env: Env,
  workspaceId: string,
  { rules, projectIds }: { rules: MaskRule[]; projectIds: string[] },
  masker: Masker | undefined,
): Promise<Preview> {
  const marks = [...new Set(rules.map(maskText))];
  const counts = Object.fromEntries(marks.map((mark) => [mark, { runs: 0, values: 0 }]));
  const preview: Preview = { runs: 0, masked_runs: 0, marks: counts, examples: [] };
  const find = { projectIds, selection: {}, order: "desc" as const, payloads: [...LARGE_FIELDS] };
  for await (const run of eachRun(env, workspaceId, { ...find, limit: RUNS })) {
    add(preview, run, masker);
    if (preview.runs === RUNS) break;
  }
  return preview;
}

function add(preview: Preview, run: QueriedRun, masker: Masker | undefined): void {
  preview.runs++;
  if (!masker) return;
  const before = visibleContent(run);
  const after = Object.fromEntries(
    Object.entries(before).map(([name, value]) => {
      if (name !== "attachments") return [name, masker.field(name, value)];
      return [name, run.attachments.map((one) => masker.attachment(one.name))];
    }),
  );
  const differences: Example[] = [];
  compare(run.id, before, after, "$", differences);
  if (differences.length === 0) return;
  preview.masked_runs++;
  for (const [mark, count] of Object.entries(preview.marks)) {
    const values = differences.filter((one) => one.after.includes(mark)).length;
    count.values += values;
    if (values > 0) count.runs++;
  }
  for (const one of differences.slice(0, EXAMPLES - preview.examples.length)) {
    preview.examples.push({ ...one, before: one.before.slice(0, SHOWN), after: one.after.slice(0, SHOWN) });
  }
}

/** The values of a run that rules see. A payload in R2 is seen by its preview only. */
function visibleContent(run: QueriedRun): Record<string, unknown> {
  const fields = LARGE_FIELDS.flatMap((name) => {
    const text = run.previews?.[name] ?? run[name];
    if (text === null || text === undefined) return [];
    return [[name, name === "error" ? text : parseOrText(text)] as const];
  });
  const attachments = run.attachments.map(({ name }) => name);
  return { name: run.name, tags: run.tags, ...Object.fromEntries(fields), attachments };
}

function parseOrText(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/** The values that differ, each with its path. A member whose name is masked differs as a whole. */
function compare(run_id: string, before: unknown, after: unknown, path: string, found: Example[]): void {
  if (before === after) return;
  const names = (value: unknown) => (isObject(value) || Array.isArray(value) ? Object.keys(value) : undefined);
  const [own, other] = [names(before), names(after)];
  if (own && other && own.every((name, place) => name === other[place])) {
    const [a, b] = [before, after] as Record<string, unknown>[];
    for (const name of own) compare(run_id, a?.[name], b?.[name], `${path}.${name}`, found);
    return;
  }
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  if (text(before) !== text(after)) found.push({ run_id, path, before: text(before), after: text(after) });
}

const doc = createDoc("Workspaces and keys");

/** What the audit trail says of a rule. Its pattern may be the secret itself. */
const describeRule = ({ type, name, ...rule }: MaskRule) => ({ type, name, ...("set" in rule && { set: rule.set }) });

const PreviewRules = v.strictObject({
  ...MaskRules.entries,
  /** A project. Left out: the newest runs of all projects. */
  session_id: v.optional(Uuid),
});

export const masking = new Hono<App>()
  .get(
    "/masking-rules",
    doc("Read the rules by which traces are masked before they are stored", MaskRules),
    async (c) => {
      const rules = await readRules(database(c.env.DB), c.get("principal").workspaceId);
      return c.json({ rules: rules ?? [] });
    },
  )
  .put(
    "/masking-rules",
    doc("Replace the masking rules; what is stored already stays", MaskRules),
    body(MaskRules),
    async (c) => {
      const { rules } = c.req.valid("json");
      const { workspaceId } = c.get("principal");
      await Masker.of(rules, c.env.ENCRYPTION_KEY);
      if (!(await writeRules(database(c.env.DB), workspaceId, rules))) throw new Problem(404, "Workspace not found.");
      forgetMaskers();
      await audit(c, { action: "masking.updated", targetId: workspaceId, detail: { rules: rules.map(describeRule) } });
      return c.json({ rules });
    },
  )
  .post(
    "/masking-rules/preview",
    doc("What rules would do to the newest 100 runs; nothing is changed", Preview),
    body(PreviewRules),
    async (c) => {
      const { rules, session_id } = c.req.valid("json");
      const { workspaceId } = c.get("principal");
      // The preview shows runs.
      requirePermission(c.get("principal"), "traces.read");
      const masker = await Masker.of(rules, c.env.ENCRYPTION_KEY);
      const wanted = { rules, projectIds: session_id === undefined ? [] : [session_id] };
      return c.json(await previewRules(c.env, workspaceId, wanted, masker));
    },
  );
