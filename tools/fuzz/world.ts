/** Who calls, and what there is: two workspaces with one of each thing, and the workspace of a custom-auth user. */
import { Api } from "../../test/support/api.ts";
import { newKey } from "../../scripts/local-server.ts";
import { type Json, makeThings, type Things } from "../../test/security/things.ts";
import { Dice } from "./dice.ts";
import { hostileText } from "./hostile.ts";

export interface Actor {
  name: string;
  headers: Record<string, string>;
  /** The ids that this actor's calls name: of its own things and of those that it must not see. */
  known: Known;
}

export interface World {
  actors: Actor[];
  /** Words that no answer to any actor may contain, and what they identify. */
  secrets: Record<string, string>;
  /** Deletes the rules of flow control and the budgets that requests of the actors made. */
  release(): Promise<void>;
}

/** The ids that calls are made of. */
export class Known {
  readonly #own: Things;
  readonly #foreign: Things[];
  /** Ids of things that calls may make and that later calls find. */
  readonly #made: string[];

  constructor(own: Things, foreign: Things[], seed: number) {
    this.#own = own;
    this.#foreign = foreign;
    const dice = new Dice(seed);
    this.#made = Array.from({ length: 24 }, () => dice.uuid());
  }

  /** An id for a member or parameter of this name. */
  id(dice: Dice, name: string): string {
    const kind = dice.next();
    if (kind < 0.4) return this.#of(this.#own, dice, name);
    if (kind < 0.6) return this.#of(dice.pick(this.#foreign), dice, name);
    if (kind < 0.9) return dice.pick(this.#made);
    return kind < 0.95 ? dice.uuid() : hostileText(dice);
  }

  /** An id that a call that makes something names. */
  pickMade(dice: Dice): string {
    return dice.pick(this.#made);
  }

  #of(things: Things, dice: Dice, name: string): string {
    const all = things as unknown as Record<string, string>;
    const ids = Object.values(all).filter((id) => !id.includes(things.marker));
    return all[ALIAS[name] ?? name] ?? dice.pick(ids);
  }
}

/** Members whose name is not the thing's. */
const ALIAS: Record<string, string> = {
  session_id: "project_id",
  session: "project_id",
  project_ids: "project_id",
  session_ids: "project_id",
  reference_dataset_id: "dataset_id",
  dataset: "dataset_id",
  examples: "example_id",
  example_ids: "example_id",
  experiment: "experiment_id",
  experiment_ids: "experiment_id",
  source_run_id: "trace_run_id",
  trace_id: "trace_run_id",
  trace: "trace_run_id",
  parent_run_id: "trace_run_id",
  bulk_export_destination_id: "destination_id",
  thread_ids: "thread_id",
  run_ids: "run_id",
  taskId: "task_id",
  before: "checkpoint_id",
};

/** Makes the workspaces and what is in them. `users` is the workspace of the custom-auth user, if the server has one. */
export async function makeWorld(url: string, adminKey: string, seed: number, users?: string): Promise<World> {
  const markers = ["victim", "users", "own"].map((name) => `${name}${new Dice(seed).uuid().slice(0, 8)}`);
  const [victimMarker = "", usersMarker = "", ownMarker = ""] = markers;
  const fillWorkspace = async (marker: string, id?: string) => {
    const { key, workspaceId } = await newKey(url, adminKey, id);
    const api = new Api(url, { "x-api-key": key });
    const ask = async (method: string, path: string, body?: unknown) =>
      (await api.call<Json>(method, path, body)) ?? {};
    return { key, workspaceId, ask, things: await makeThings(ask, marker) };
  };
  const victim = await fillWorkspace(victimMarker);
  const own = await fillWorkspace(ownMarker);
  const usersOwn = users ? await fillWorkspace(usersMarker, users) : undefined;
  const foreign = [victim.things, ...(usersOwn ? [usersOwn.things] : [])];
  const known = new Known(own.things, foreign, seed);
  const reader = await own.ask("POST", "/api/v1/api-keys", { name: "reader", scopes: ["read"] });
  const call = (name: string, headers: Record<string, string>) => ({ name, headers, known });
  const actors: Actor[] = [
    ...Array.from({ length: 10 }, () => call("key", { "x-api-key": own.key })),
    call("reader", { "x-api-key": String(reader.key) }),
    call("anonymous", {}),
    call("wrong key", { "x-api-key": "weir_wrong" }),
    call("other tenant", { "x-api-key": own.key, "x-tenant-id": victim.workspaceId }),
  ];
  if (usersOwn) {
    const known = new Known(own.things, foreign, seed + 1);
    const user = { name: "user", headers: { authorization: "Bearer user-alice" }, known };
    actors.push(user, user, user, user);
  }
  const secrets = {
    [victimMarker]: "data of another workspace",
    [victim.key]: "another workspace's key",
    [adminKey]: "the admin key",
    ...(usersOwn && {
      [usersMarker]: "data of another user's workspace",
      [usersOwn.key]: "the users' workspace's key",
    }),
  };
  const release = async () => {
    for (const each of [own, ...(usersOwn ? [usersOwn] : [])]) {
      for (const kind of ["flow/rules", "budgets"]) {
        const { [kind.split("/").at(-1) ?? ""]: made } = await each.ask("GET", `/api/v1/${kind}`);
        for (const { id } of made as { id: string }[]) await each.ask("DELETE", `/api/v1/${kind}/${id}`);
      }
    }
  };
  return { actors, secrets, release };
}
