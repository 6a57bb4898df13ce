/** What a program elsewhere sets to send its traces here. */
import { SERVER } from "../api/server.ts";

/** The environment variables of the LangSmith SDKs. */
export const TRACING = [
  "LANGSMITH_TRACING=true",
  `LANGSMITH_ENDPOINT=${SERVER}`,
  "LANGSMITH_API_KEY=<an API key of this workspace>",
  "LANGSMITH_PROJECT=<a name>",
].join("\n");
