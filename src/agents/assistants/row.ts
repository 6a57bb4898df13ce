/** An assistant and its versions: as rows of D1, and on the wire. */
import type { Json } from "../../lib/json.ts";
import { and, eq, type SQL } from "drizzle-orm";
import { configWithoutIdentity, contextWithoutIdentity } from "../../access/users/handlers.ts";
import { mirrorContext } from "./context.ts";
import { isDefaultAssistant } from "./defaults.ts";
import { assistants, assistantVersions } from "./table.ts";
import type { Assistant, AssistantVersion } from "./wire.ts";

export { Assistant, AssistantVersion } from "./wire.ts";

export type AssistantRow = typeof assistants.$inferSelect;
export type AssistantVersionRow = typeof assistantVersions.$inferSelect;

/** The values of the caller. Absent ones come from the default, or from the previous version. */
export interface AssistantInput {
  graphId?: string;
  name?: string;
  description?: string | null;
  config?: Json;
  context?: Json;
  metadata?: Json;
}

/** Only a default assistant has `created_by: "system"`. All other metadata of a client are kept. */
export function ownMetadata(id: string, metadata: Json): Json {
  const { created_by, ...others } = metadata;
  return created_by === "system" && !isDefaultAssistant(id) ? others : metadata;
}

/** A new assistant's row. */
export function firstVersion(
  workspaceId: string,
  id: string,
  input: AssistantInput & { graphId: string },
): AssistantRow {
  const now = Date.now();
  const { graphId, name = "Untitled", description = null, config = {}, context = {}, metadata = {} } = input;
  return {
    workspaceId,
    id,
    version: 1,
    graphId,
    name,
    description,
    config,
    context,
    metadata: ownMetadata(id, metadata),
    createdAt: now,
    updatedAt: now,
  };
}

/** The row's active version, as a row of the versions' table. */
export function activeVersion(row: AssistantRow): AssistantVersionRow {
  const { id, updatedAt: _, ...version } = row;
  return { ...version, assistantId: id };
}

export function isAssistantRow({ workspaceId, id }: Pick<AssistantRow, "workspaceId" | "id">): SQL | undefined {
  return and(eq(assistants.workspaceId, workspaceId), eq(assistants.id, id));
}

export function belongsToAssistant({ workspaceId, id }: Pick<AssistantRow, "workspaceId" | "id">): SQL | undefined {
  return and(eq(assistantVersions.workspaceId, workspaceId), eq(assistantVersions.assistantId, id));
}

export function toWireAssistant(row: AssistantRow): Assistant {
  return {
    ...toWireAssistantVersion({ ...row, assistantId: row.id }),
    updated_at: new Date(row.updatedAt).toISOString(),
  };
}

/** All reads of an assistant pass here, so that an identity in a row reaches no graph. */
export function toWireAssistantVersion(row: AssistantVersionRow): AssistantVersion {
  const { assistantId, graphId, version, name, description, config, context, metadata, createdAt } = row;
  const mirrored = mirrorContext(configWithoutIdentity(config), contextWithoutIdentity(context));
  return {
    assistant_id: assistantId,
    graph_id: graphId,
    version,
    name,
    description,
    ...mirrored,
    metadata: ownMetadata(assistantId, metadata),
    created_at: new Date(createdAt).toISOString(),
  };
}
