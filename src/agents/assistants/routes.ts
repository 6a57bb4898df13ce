/** `/assistants`: named, versioned configurations of a graph. An id in a path may also be a graph id. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { Count, selectableList, cutPage, selectFields } from "../../http/shapes.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import { type App, newOrEarlier } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import type { Principal } from "../../http/principal.ts";
import { toAssistantId, graphIds } from "./defaults.ts";
import { refuseConflict } from "./context.ts";
import { assistantGraphs } from "./describe.ts";
import { Assistant, AssistantVersion } from "./row.ts";
import {
  ActivateVersion,
  AssistantPath,
  CountAssistants,
  CreateAssistant,
  DeleteQuery,
  ListVersions,
  SearchAssistants,
  UpdateAssistant,
} from "./schema.ts";
import { countAssistants, createAssistant, deleteAssistant, resolveAssistant, searchAssistants } from "./store.ts";
import { activateVersion, listVersions, updateAssistant } from "./versions.ts";

const doc = createDoc("Assistants");
const notFound = () => new Problem(404, "Assistant not found.");

function requireGraph(graphId: string | undefined): void {
  if (graphId === undefined || graphIds().includes(graphId)) return;
  throw new Problem(404, `No graph with this id is deployed. Deployed graphs: ${graphIds().join(", ")}.`);
}

/** What ends with an assistant. */
export interface AssistantHooks {
  /** Deletes the threads whose last run was the assistant's, as far as the principal may. */
  deleteThreads: (env: Env, principal: Principal, assistantId: string) => Promise<void>;
  /** Deletes the crons of an assistant that has been deleted. */
  onDeleted: (env: Env, workspaceId: string, assistantId: string) => Promise<void>;
}

export const assistants = ({ deleteThreads, onDeleted }: AssistantHooks) =>
  new Hono<App>()
    .post("/", doc("Create an assistant", Assistant), body(CreateAssistant, { exact: true }), async (c) => {
      const { graph_id, assistant_id: given, if_exists, ...input } = c.req.valid("json");
      requireGraph(graph_id);
      refuseConflict(input.config, input.context);
      const db = database(c.env.DB);
      const { workspaceId } = c.get("principal");
      const { id, earlier } = await newOrEarlier(c, (one) => resolveAssistant(db, workspaceId, one));
      if (earlier) return c.json(earlier);
      const assistant_id = given ?? id;
      const made = await createAssistant(db, workspaceId, assistant_id, { ...input, graphId: graph_id });
      if (made) {
        await audit(c, { action: "assistant.created", targetId: assistant_id, detail: { name: made.name, graph_id } });
        return c.json(made);
      }
      const existing = if_exists === "do_nothing" && (await resolveAssistant(db, workspaceId, assistant_id));
      if (!existing) throw new Problem(409, "An assistant with this assistant_id exists.");
      return c.json(existing);
    })
    .post(
      "/search",
      doc("Search assistants", selectableList(Assistant)),
      body(SearchAssistants, { exact: true }),
      async (c) => {
        const { limit = 10, offset = 0, sort_by, sort_order, select, graph_id, ...filter } = c.req.valid("json");
        const rows = await searchAssistants(database(c.env.DB), c.get("principal").workspaceId, {
          ...filter,
          graphId: graph_id,
          limit,
          offset,
          sortBy: sort_by ?? "created_at",
          sortOrder: sort_order ?? "desc",
        });
        const { items, headers } = cutPage(rows, limit, offset);
        return c.json(
          items.map((item) => selectFields(item, select)),
          200,
          headers,
        );
      },
    )
    .post("/count", doc("Count assistants", Count), body(CountAssistants, { exact: true }), async (c) => {
      const { graph_id, ...filter } = c.req.valid("json");
      const { workspaceId } = c.get("principal");
      return c.json(await countAssistants(database(c.env.DB), workspaceId, { ...filter, graphId: graph_id }));
    })
    .get("/:assistant_id", doc("Get an assistant", Assistant), param(AssistantPath), async (c) => {
      const { assistant_id } = c.req.valid("param");
      const found = await resolveAssistant(database(c.env.DB), c.get("principal").workspaceId, assistant_id);
      if (!found) throw notFound();
      return c.json(found);
    })
    .patch(
      "/:assistant_id",
      doc("Update an assistant: makes and activates a new version", Assistant),
      param(AssistantPath),
      body(UpdateAssistant, { exact: true }),
      async (c) => {
        const { assistant_id } = c.req.valid("param");
        const { graph_id, ...input } = c.req.valid("json");
        requireGraph(graph_id);
        refuseConflict(input.config, input.context);
        const { workspaceId } = c.get("principal");
        const made = await updateAssistant(database(c.env.DB), workspaceId, assistant_id, {
          ...input,
          graphId: graph_id,
        });
        if (!made) throw notFound();
        const detail = { fields: Object.keys(c.req.valid("json")), version: made.version };
        await audit(c, { action: "assistant.updated", targetId: made.assistant_id, detail });
        return c.json(made);
      },
    )
    .delete(
      "/:assistant_id",
      doc("Delete an assistant and all its versions", NOTHING),
      param(AssistantPath),
      query(DeleteQuery),
      async (c) => {
        const id = toAssistantId(c.req.valid("param").assistant_id);
        const { workspaceId } = c.get("principal");
        const db = database(c.env.DB);
        if (!(await resolveAssistant(db, workspaceId, id))) throw notFound();
        const { delete_threads } = c.req.valid("query");
        await audit(c, { action: "assistant.deleted", targetId: id, detail: { delete_threads } });
        // First, so that a request that leaves some can be sent again.
        if (delete_threads) await deleteThreads(c.env, c.get("principal"), id);
        const gone = await deleteAssistant(db, workspaceId, id);
        if (!gone) throw notFound();
        await onDeleted(c.env, workspaceId, id);
        return c.body(null, 204);
      },
    )
    .post(
      "/:assistant_id/versions",
      doc("List an assistant's versions, newest first", v.array(AssistantVersion)),
      param(AssistantPath),
      body(ListVersions, { exact: true }),
      async (c) => {
        const { assistant_id } = c.req.valid("param");
        const { limit = 10, offset = 0, metadata } = c.req.valid("json");
        const { workspaceId } = c.get("principal");
        const rows = await listVersions(database(c.env.DB), workspaceId, assistant_id, { limit, offset, metadata });
        if (!rows) throw notFound();
        const { items, headers } = cutPage(rows, limit, offset);
        return c.json(items, 200, headers);
      },
    )
    .post(
      "/:assistant_id/latest",
      doc("Make a version of an assistant the active one", Assistant),
      param(AssistantPath),
      body(ActivateVersion),
      async (c) => {
        const { assistant_id } = c.req.valid("param");
        const { version } = c.req.valid("json");
        const { workspaceId } = c.get("principal");
        const active = await activateVersion(database(c.env.DB), workspaceId, assistant_id, version);
        if (!active) throw new Problem(404, "Assistant or version not found.");
        await audit(c, { action: "assistant.updated", targetId: active.assistant_id, detail: { version } });
        return c.json(active);
      },
    )
    .route("/", assistantGraphs);
