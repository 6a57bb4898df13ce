/** What a program elsewhere sets to send its traces here. */
import { SERVER } from "./server.ts";

/** The environment variables of the LangSmith SDKs. */
export const writeTracing = (key = "<an API key of this workspace>"): string =>
  [
    "LANGSMITH_TRACING=true",
    `LANGSMITH_ENDPOINT=${SERVER}`,
    `LANGSMITH_API_KEY=${key}`,
    "LANGSMITH_PROJECT=my-program",
  ].join("\n");
