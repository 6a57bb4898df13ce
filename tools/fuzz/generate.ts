/** The request of a number: the same for the same seed, but for the ids that the server gave. */
import { commandRequest, socketRequest } from "./commands.ts";
import { Dice } from "./dice.ts";
import { ingestRequest } from "./ingest.ts";
import { oauthRequest } from "./oauth.ts";
import { type Described, fromOperation } from "./operations.ts";
import type { FuzzRequest } from "./request.ts";
import { a2aRequest, mcpRequest } from "./rpc.ts";
import type { Actor } from "./world.ts";

/** Characters of an address and of a header that the platform passes on. */
const LONGEST = 16_000;

export function generateRequest(seed: number, index: number, actors: Actor[], operations: Described[]): FuzzRequest {
  const { path, headers, ...request } = anyRequest(seed, index, actors, operations);
  const sent = Object.entries(headers).map(([name, value]) => [name, value.slice(0, LONGEST / 4)]);
  return { ...request, path: path.slice(0, LONGEST), headers: Object.fromEntries(sent) as Record<string, string> };
}

function anyRequest(seed: number, index: number, actors: Actor[], operations: Described[]): FuzzRequest {
  const dice = Dice.of(seed, index);
  const actor = dice.pick(actors);
  const kind = dice.next();
  if (kind < 0.55) return fromOperation(dice, operations, actor);
  if (kind < 0.63) return a2aRequest(dice, actor);
  if (kind < 0.68) return mcpRequest(dice, actor);
  if (kind < 0.78) return commandRequest(dice, actor);
  if (kind < 0.81) return socketRequest(dice, actor);
  if (kind < 0.95) return ingestRequest(dice, actor);
  return oauthRequest(dice, actor);
}
