/** Shapes of a destination: specification 2.4, and LangSmith's further members. */
import * as v from "valibot";
import { optional, Uuid } from "../../http/shapes.ts";

const line = (max: number) =>
  v.pipe(v.string(), v.minLength(1, "must not be empty"), v.maxLength(max, `must be at most ${max} characters`));

const BucketName = v.pipe(
  v.string(),
  v.regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._-]{1,61}[a-zA-Z0-9]$/,
    "must be 3 to 63 letters, digits, dots, hyphens or underscores, starting and ending with a letter or digit",
  ),
);

const Prefix = v.pipe(
  v.string(),
  v.maxLength(2048, "must be at most 2048 characters"),
  // oxlint-disable-next-line no-control-regex -- what a key must not hold
  v.check((prefix) => !/[\u0000-\u001f\u007f\\]/.test(prefix), "must not hold control characters or backslashes"),
  v.check(
    (prefix) => prefix.split("/").every((segment) => segment !== "." && segment !== ".."),
    'must not have "." or ".." as a folder',
  ),
  v.transform((prefix) => prefix.replace(/^\/+|\/+$/g, "")),
);

/** It becomes part of a host name, so nothing else may stand in it. */
const Region = v.pipe(
  v.string(),
  v.regex(/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,38}[a-zA-Z0-9])?$/, "must be a region such as eu-west-1 or auto"),
);

const HeaderText = v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,1024}$/, "must be 1 to 1024 printable ASCII characters"));

/** Arguments of PutObject that a destination may set, and the headers they are. */
export const PUT_ARGUMENTS = {
  ACL: "x-amz-acl",
  BucketKeyEnabled: "x-amz-server-side-encryption-bucket-key-enabled",
  ExpectedBucketOwner: "x-amz-expected-bucket-owner",
  RequestPayer: "x-amz-request-payer",
  SSEKMSEncryptionContext: "x-amz-server-side-encryption-context",
  SSEKMSKeyId: "x-amz-server-side-encryption-aws-kms-key-id",
  ServerSideEncryption: "x-amz-server-side-encryption",
  StorageClass: "x-amz-storage-class",
  Tagging: "x-amz-tagging",
} as const;

const HeaderValue = v.pipe(
  v.union([HeaderText, v.boolean()], "must be text or a boolean"),
  v.transform((value) => String(value)),
);

const Config = v.strictObject({
  bucket_name: optional(BucketName),
  prefix: v.optional(v.nullable(Prefix), ""),
  region: optional(Region),
  endpoint_url: optional(line(2048)),
  include_bucket_in_prefix: v.optional(v.nullable(v.boolean()), true),
  config_kwargs_s3: optional(
    v.strictObject({
      addressing_style: optional(v.picklist(["auto", "virtual", "path"])),
      use_accelerate_endpoint: optional(v.boolean()),
      // Every payload is signed, and us-east-1 is always addressed as a region: taken so that clients need no change.
      payload_signing_enabled: optional(v.boolean()),
      us_east_1_regional_endpoint: optional(v.picklist(["regional", "legacy"])),
    }),
  ),
  s3_additional_kwargs: optional(
    v.record(v.picklist(Object.keys(PUT_ARGUMENTS) as (keyof typeof PUT_ARGUMENTS)[]), HeaderValue),
  ),
  aws_role_arn: v.optional(v.null("is not supported: use credentials")),
});

export const Credentials = v.strictObject({
  access_key_id: v.pipe(line(255), HeaderText),
  secret_access_key: line(2048),
  session_token: optional(v.pipe(line(2048), v.regex(/^[\x21-\x7e]+$/, "must be printable ASCII without spaces"))),
});

export const CreateDestination = v.pipe(
  v.strictObject({
    destination_type: v.optional(v.picklist(["s3", "r2"]), "s3"),
    display_name: line(255),
    config: Config,
    credentials: optional(Credentials),
  }),
  v.forward(
    v.check(
      ({ destination_type, credentials }) => destination_type === "r2" || credentials !== undefined,
      "is required for destination_type s3: access_key_id and secret_access_key",
    ),
    ["credentials"],
  ),
  v.forward(
    v.check(
      ({ destination_type, credentials }) => destination_type === "s3" || credentials === undefined,
      "must be left out for destination_type r2: the bucket is bound to the server",
    ),
    ["credentials"],
  ),
  v.forward(
    v.check(
      ({ destination_type, config }) => destination_type === "r2" || config.bucket_name !== undefined,
      "bucket_name is required for destination_type s3",
    ),
    ["config"],
  ),
  v.forward(
    v.check(
      ({ destination_type, config }) =>
        destination_type === "r2" || config.region !== undefined || config.endpoint_url !== undefined,
      "needs region (AWS) or endpoint_url (any other store)",
    ),
    ["config"],
  ),
  v.forward(
    v.check(
      ({ destination_type, config }) =>
        destination_type === "s3" || [config.bucket_name, config.region, config.endpoint_url].every((set) => !set),
      "takes only prefix for destination_type r2: the bucket is bound to the server",
    ),
    ["config"],
  ),
);

export const PatchDestination = v.strictObject({ credentials: Credentials });

export const DestinationId = v.object({ id: Uuid });
