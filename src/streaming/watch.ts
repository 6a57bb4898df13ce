/** Whether those who opened the sockets of a thread still may, asked before each command and each delivery. */
import { type Presented, stillHolds } from "../access/auth/credentials.ts";
import type { Principal } from "../http/principal.ts";

/** The close code of a socket whose credential has ended. */
const CREDENTIAL_ENDED = 4401;

interface Caller {
  principal: Principal;
  presented: Presented;
}

/**
 * Whether the socket may stay open; closes it with 4401 when its credential has ended. A socket without traffic is not
 * checked: a timer would keep its object from hibernating, and nothing is sent in the meantime.
 */
export async function mayContinue(env: Env, socket: WebSocket, { principal, presented }: Caller): Promise<boolean> {
  if (await stillHolds(env, principal, presented)) return true;
  if (socket.readyState === WebSocket.OPEN) socket.close(CREDENTIAL_ENDED, "The credential of this socket has ended.");
  return false;
}
