/** The request of a number: the same for the same seed, but for the ids that the server gave. */
import { commandRequest, socketRequest } from "./commands.ts";
import { Dice } from "./dice.ts";
import { ingestRequest } from "./ingest.ts";
import { oauthRequest } from "./oauth.ts";
import { type Described, fromOperation } from "./operations.ts";
import type { FuzzRequest } from "./request.ts";
import { a2aRequest, mcpRequest } from "./rpc.ts";
import type { Actor } from "./world.ts";

export function requestOf(seed: number, index: number, actors: Actor[], operations: Described[]): FuzzRequest {
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
