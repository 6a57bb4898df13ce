/** Routes without the shape of their answer in /openapi.json, and why, by the path without its prefix. */

export const UNDESCRIBED: Record<string, string> = {
  ...because(
    "It answers with a status or a redirect, and no body",
    `POST /oauth/revoke | GET /public/{share_token}/d | GET /public/{share_token}/r`,
  ),
  ...because(
    "It answers with a file, not with JSON",
    `GET /datasets/{dataset_id}/csv | GET /datasets/{dataset_id}/jsonl | GET /datasets/{dataset_id}/openai
    GET /datasets/{dataset_id}/openai_ft | GET /trace-attachments/{token}`,
  ),
  ...because("The protocol says what it answers", `DELETE /mcp | GET /mcp | POST /otel/v1/traces`),
  ...because("It is the document", `GET /openapi.json`),
  ...because(
    "Its shape is not in the document yet",
    `GET /annotation-queues | POST /annotation-queues | POST /annotation-queues/populate
    POST /annotation-queues/status/{item_id} | DELETE /annotation-queues/{queue_id} | GET /annotation-queues/{queue_id}
    PATCH /annotation-queues/{queue_id} | GET /annotation-queues/{queue_id}/run/{index}
    GET /annotation-queues/{queue_id}/runs | POST /annotation-queues/{queue_id}/runs
    POST /annotation-queues/{queue_id}/runs/by-key | POST /annotation-queues/{queue_id}/runs/delete
    DELETE /annotation-queues/{queue_id}/runs/{item_id} | PATCH /annotation-queues/{queue_id}/runs/{item_id}
    GET /annotation-queues/{queue_id}/size | GET /annotation-queues/{queue_id}/total_archived
    GET /annotation-queues/{queue_id}/total_size | GET /annotation-queues/{run_id}/queues | GET /datasets | POST /datasets
    POST /datasets/clone | POST /datasets/comparative | DELETE /datasets/comparative/{comparative_experiment_id}
    POST /datasets/upload | DELETE /datasets/{dataset_id} | GET /datasets/{dataset_id} | PATCH /datasets/{dataset_id}
    GET /datasets/{dataset_id}/comparative | GET /datasets/{dataset_id}/compare
    POST /datasets/{dataset_id}/experiment-runs | POST /datasets/{dataset_id}/index
    POST /datasets/{dataset_id}/index/sync | POST /datasets/{dataset_id}/runs | POST /datasets/{dataset_id}/search
    GET /datasets/{dataset_id}/splits | PUT /datasets/{dataset_id}/splits | PUT /datasets/{dataset_id}/tags
    GET /datasets/{dataset_id}/version | GET /datasets/{dataset_id}/versions | GET /datasets/{dataset_id}/versions/diff
    DELETE /examples | GET /examples | POST /examples | PATCH /examples/bulk | POST /examples/bulk | GET /examples/count
    DELETE /examples/{example_id} | GET /examples/{example_id} | PATCH /examples/{example_id} | GET /graphs
    POST /graphs/check | POST /platform/annotation-queues/items/{item_id}/status
    GET /platform/annotation-queues/{queue_id}/items | POST /platform/annotation-queues/{queue_id}/items
    GET /platform/annotation-queues/{queue_id}/items/count | POST /platform/annotation-queues/{queue_id}/items/delete
    PATCH /platform/annotation-queues/{queue_id}/items/{item_id}
    GET /platform/annotation-queues/{queue_id}/items/{item_id}/placement | POST /platform/datasets/examples/delete
    PATCH /platform/datasets/{dataset_id}/examples | POST /platform/datasets/{dataset_id}/examples
    PATCH /platform/datasets/{dataset_id}/examples/metadata | DELETE /platform/datasets/{dataset_id}/examples/{example_id}
    GET /public/{share_token}/datasets | GET /public/{share_token}/examples | GET /public/{share_token}/run
    GET /public/{share_token}/run/{run_id} | GET /public/{share_token}/runs | POST /public/{share_token}/runs/query
    POST /runs/delete | POST /runs/group | POST /runs/query | POST /runs/query/validate | POST /runs/stats
    POST /runs/stats/series | GET /runs/threads/{thread_id} | GET /runs/{run_id} | GET /runs/{run_id}/messages
    POST /threads/query | POST /threads/stats | DELETE /threads/{thread_id} | GET /threads/{thread_id}/messages
    GET /threads/{thread_id}/stats | GET /threads/{thread_id}/traces | POST /traces/query | GET /traces/{run_id}/messages
    GET /traces/{run_id}/runs | DELETE /traces/{trace_id} | GET /workspaces | POST /workspaces`,
  ),
};

function because(why: string, routes: string): Record<string, string> {
  return Object.fromEntries(routes.split(/[|\n]/).map((route) => [route.trim(), why]));
}
