/** Datasets on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../../http/shapes.ts";

export type Dataset = v.InferOutput<typeof Dataset>;

export const Dataset = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    name: v.string(),
    description: v.nullable(v.string()),
    data_type: v.string(),
    created_at: Time,
    modified_at: Time,
    example_count: Count,
    session_count: Count,
    last_session_start_time: v.nullable(Time),
    inputs_schema_definition: v.nullable(AnyObject),
    outputs_schema_definition: v.nullable(AnyObject),
    metadata: AnyObject,
    externally_managed: v.literal(false),
  }),
  v.title("Dataset"),
);
