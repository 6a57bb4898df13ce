/** The links that the server itself gives out with the questions of a run, over MCP and A2A. */
import { urlOfLink } from "../threads/answers/token.ts";
import type { Via } from "../threads/answering.ts";
import { forEach } from "../threads/requests/fan-out.ts";
import { threadStub } from "../threads/stub.ts";

/** Questions of one run that get a link. */
const MOST = 20;

export interface OwnLink {
  interrupt_id: string;
  answer_url: string;
  expires_at: string;
}

/** Where the questions wait. `address`: this server's, as the caller has it. */
export interface AskingThread {
  env: Env;
  workspaceId: string;
  threadId: string;
  address: string;
}

/** A link for each question that can be answered by one. Its holder may answer, so the caller must be allowed to start runs. */
export async function giveLinks(
  { env, workspaceId, threadId, address }: AskingThread,
  via: Extract<Via, "mcp" | "a2a">,
  interruptIds: string[],
): Promise<OwnLink[]> {
  const thread = threadStub(env, workspaceId, threadId);
  const given = await forEach(interruptIds.slice(0, MOST), async (interrupt_id) => {
    const link = await thread.ownLink(interrupt_id, via);
    if (!link) return [];
    const answer_url = await urlOfLink(env, address, { workspaceId, threadId }, link);
    return [{ interrupt_id, answer_url, expires_at: new Date(link.expires).toISOString() }];
  });
  return given.flat();
}
