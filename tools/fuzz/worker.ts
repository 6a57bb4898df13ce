/** The Worker within Cloudflare's limits, with users of its own besides keys: a user sees what has their name as `owner`. */
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
import { projectExports } from "../../src/deployment.ts";

const auth = new Auth()
  .authenticate((request: Request) => {
    const name = /^Bearer user-(\w+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    if (!name) throw new HTTPException(401, { message: "The token names no user." });
    return { identity: name, permissions: [] };
  })
  .on("*", ({ value, user }) => {
    const given = value as { metadata?: object };
    given.metadata = { ...given.metadata, owner: user.identity };
    return { owner: user.identity };
  });
Object.assign(projectExports, { auth });

export { default } from "../../test/support/edge-worker.ts";
export * from "../../test/support/edge-worker.ts";
