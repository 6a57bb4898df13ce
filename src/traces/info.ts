/** The part of `/info` for the tracing SDKs: how to send runs to this server. */

export const INGEST_INFO = {
  git_sha: null,
  license_expiration_time: null,
  customer_info: null,
  batch_ingest_config: {
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    /** Operations and decoded bytes of one request. */
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: true,
    dataset_examples_multipart_enabled: true,
  },
} as const;

/** The version whose calls the SDKs may make. They warn of an older one. */
export const INGEST_API_VERSION = "0.18.0";
