/** Routes without the shape of their answer in /openapi.json, and why, by the path without its prefix. */

export const UNDESCRIBED: Record<string, string> = {
  ...explainRoutes(
    "It answers with a status or a redirect, and no body",
    `POST /oauth/revoke | GET /public/{share_token}/d | GET /public/{share_token}/r`,
  ),
  ...explainRoutes(
    "It answers with a file, not with JSON",
    `GET /datasets/{dataset_id}/csv | GET /datasets/{dataset_id}/jsonl | GET /datasets/{dataset_id}/openai
    GET /datasets/{dataset_id}/openai_ft | GET /trace-attachments/{token}`,
  ),
  ...explainRoutes(
    "The protocol says what it answers",
    `DELETE /mcp | GET /mcp | DELETE /mcp/traces | GET /mcp/traces | POST /otel/v1/traces`,
  ),
  ...explainRoutes("It is the document", `GET /openapi.json`),
};

function explainRoutes(why: string, routes: string): Record<string, string> {
  return Object.fromEntries(routes.split(/[|\n]/).map((route) => [route.trim(), why]));
}
