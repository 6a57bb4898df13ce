/** Destinations of exports on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Id, Time } from "../../http/shapes.ts";

const text = v.nullable(v.string());

export const Destination = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    destination_type: v.picklist(["s3", "r2"]),
    display_name: v.string(),
    config: v.object({
      bucket_name: v.string(),
      prefix: v.string(),
      region: text,
      endpoint_url: text,
      include_bucket_in_prefix: v.boolean(),
      config_kwargs_s3: v.nullable(AnyObject),
      s3_additional_kwargs: v.nullable(v.record(v.string(), v.string())),
    }),
    credentials_keys: v.array(v.string()),
    created_at: Time,
    updated_at: Time,
  }),
  v.title("BulkExportDestination"),
);
export type Destination = v.InferOutput<typeof Destination>;
