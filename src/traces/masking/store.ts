/** The masker of a workspace, as this isolate has last read its rules: at most five seconds ago. */
import { eq, sql } from "drizzle-orm";
import { type Database, database } from "../../db/client.ts";
import { workspaces } from "../../access/table.ts";
import type { MaskRule } from "./schema.ts";
import { RowCache } from "../../lib/cache.ts";
import { Masker } from "./masker.ts";

// D1: the masking rules of a workspace, in its settings.

/** Undefined when the workspace has never had rules. */
export async function readRules(db: Database, workspaceId: string): Promise<MaskRule[] | undefined> {
  const row = await db
    .select({ settings: workspaces.settings })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId))
    .get();
  return row?.settings.masking as MaskRule[] | undefined;
}

/** Replaces the rules; other settings stay. False when there is no such workspace. */
export async function writeRules(db: Database, workspaceId: string, rules: MaskRule[]): Promise<boolean> {
  const settings = sql`json_set(${workspaces.settings}, '$.masking', json(${JSON.stringify(rules)}))`;
  const changed = await db
    .update(workspaces)
    .set({ settings })
    .where(eq(workspaces.id, workspaceId))
    .returning({ id: workspaces.id });
  return changed.length > 0;
}

interface Loaded {
  /** The rules as text, to compile them only when they change. */
  text: string;
  masker: Masker | undefined;
}

const cache = new RowCache<Loaded>();
/** What was compiled last, by workspace: a compilation takes longer than a read. */
const compiled = new Map<string, Loaded>();
const KEPT_MOST = 10;

/**
 * Undefined when the workspace has no rules. Ingest fails when the rules cannot be read: nothing is stored that a rule may
 * have masked.
 */
export async function loadMasker(env: Env, workspaceId: string): Promise<Masker | undefined> {
  const loaded = await cache.get(workspaceId, async () => {
    const rules = (await readRules(database(env.DB), workspaceId)) ?? [];
    const text = JSON.stringify(rules);
    const known = compiled.get(workspaceId);
    if (known?.text === text) return known;
    const fresh = { text, masker: await Masker.of(rules, env.ENCRYPTION_KEY) };
    if (compiled.size >= KEPT_MOST) compiled.clear();
    compiled.set(workspaceId, fresh);
    return fresh;
  });
  return loaded?.masker;
}

/** Call it when rules change. Other isolates notice within five seconds. */
export function forgetMaskers(): void {
  cache.forget();
}
