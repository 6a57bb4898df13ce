/** Projects and datasets by their names. */
import { isUuid } from "../../lib/uuid.ts";
import { Problem } from "../../lib/problem.ts";
import type { Api } from "../../protocols/mcp/traces/api.ts";

interface Named {
  id: string;
  name: string;
}

/** @throws Problem 404 with names that exist */
export async function findProjectId(api: Api, given: string): Promise<string> {
  return findId(api, "/api/v1/sessions", "project", given);
}

/** @throws Problem 404 with names that exist */
export async function findDatasetId(api: Api, given: string): Promise<string> {
  return findId(api, "/api/v1/datasets", "dataset", given);
}

async function findId(api: Api, path: string, what: string, given: string): Promise<string> {
  if (isUuid(given)) return given.toLowerCase();
  const [found] = await api.get<Named[]>(path, { name: given, limit: 1 });
  if (found) return found.id;
  const others = await api.get<Named[]>(path, { limit: 20 });
  const names = others.map(({ name }) => JSON.stringify(name)).join(", ");
  throw new Problem(
    404,
    `There is no ${what} ${JSON.stringify(given)}. ${names ? `There is ${names}.` : "There is none."}`,
  );
}
