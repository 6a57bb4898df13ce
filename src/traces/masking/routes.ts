/** The masking rules of a workspace: `/api/v1/masking-rules`. */
import { Hono } from "hono";
import * as v from "valibot";
import { requirePermission } from "../../access/auth/roles.ts";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { createDoc } from "../../http/route.ts";
import { Uuid } from "../../http/shapes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body } from "../../http/validate.ts";
import { forgetMaskers } from "./load.ts";
import { Masker } from "./masker.ts";
import { Preview, previewRules } from "../masking-rules/preview.ts";
import { type MaskRule, MaskRules } from "./schema.ts";
import { readRules, writeRules } from "./store.ts";

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
