CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text,
	`at` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`action` text NOT NULL,
	`target_id` text NOT NULL,
	`detail` text NOT NULL,
	`address` text,
	`user_agent` text,
	`seq` integer,
	`prev_hash` text,
	`hash` text
);
--> statement-breakpoint
CREATE INDEX `audit_log_workspace` ON `audit_log` (`workspace_id`,`at`);--> statement-breakpoint
CREATE UNIQUE INDEX `audit_log_chain` ON `audit_log` (`workspace_id`,`seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `audit_log_chain_deployment` ON `audit_log` (`seq`) WHERE "audit_log"."workspace_id" is null;--> statement-breakpoint
CREATE INDEX `audit_log_unchained` ON `audit_log` (`workspace_id`) WHERE "audit_log"."seq" is null;--> statement-breakpoint
CREATE TABLE `audit_roots` (
	`workspace_id` text NOT NULL,
	`day` text NOT NULL,
	`seq` integer NOT NULL,
	`hash` text NOT NULL,
	`written_at` integer,
	PRIMARY KEY(`workspace_id`, `day`)
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`workspace_id` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`status` integer,
	`headers` text,
	`body` text,
	`created_at` integer NOT NULL,
	`epoch` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `key`)
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`grant_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`allowed_ips` text,
	`end_reason` text,
	`successor_id` text,
	`role` text,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_workspace` ON `api_keys` (`workspace_id`);--> statement-breakpoint
CREATE TABLE `encryption_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`wrapped` text,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`destroyed_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `encryption_keys_workspace` ON `encryption_keys` (`workspace_id`,`version`);--> statement-breakpoint
CREATE TABLE `invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`hash` text NOT NULL,
	`role` text NOT NULL,
	`email` text,
	`maker_kind` text NOT NULL,
	`maker_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	`member_id` text,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_hash_unique` ON `invitations` (`hash`);--> statement-breakpoint
CREATE INDEX `invitations_workspace` ON `invitations` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `invitations_expiry` ON `invitations` (`expires_at`);--> statement-breakpoint
CREATE TABLE `member_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`member_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`address` text,
	`user_agent` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `member_sessions_hash_unique` ON `member_sessions` (`hash`);--> statement-breakpoint
CREATE INDEX `member_sessions_member` ON `member_sessions` (`member_id`);--> statement-breakpoint
CREATE INDEX `member_sessions_expiry` ON `member_sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `members` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`email` text,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	`signed_in_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `members_person` ON `members` (`workspace_id`,`issuer`,`subject`);--> statement-breakpoint
CREATE INDEX `members_subject` ON `members` (`subject`,`issuer`);--> statement-breakpoint
CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text,
	`client_uri` text,
	`logo_uri` text,
	`policy_uri` text,
	`tos_uri` text,
	`scope` text,
	`redirect_uris` text NOT NULL,
	`grant_types` text NOT NULL,
	`response_types` text NOT NULL,
	`created_at` integer NOT NULL,
	`used_at` integer
);
--> statement-breakpoint
CREATE INDEX `oauth_clients_unused` ON `oauth_clients` (`used_at`,`created_at`);--> statement-breakpoint
CREATE TABLE `oauth_codes` (
	`hash` text PRIMARY KEY NOT NULL,
	`grant_id` text NOT NULL,
	`client_id` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`challenge` text NOT NULL,
	`resource` text,
	`expires_at` integer NOT NULL,
	`successor` text
);
--> statement-breakpoint
CREATE TABLE `oauth_grants` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`credential_id` text NOT NULL,
	`scopes` text NOT NULL,
	`resource` text,
	`created_at` integer NOT NULL,
	`revoked_at` integer,
	`expires_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `oauth_grants_workspace` ON `oauth_grants` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `oauth_grants_client` ON `oauth_grants` (`client_id`);--> statement-breakpoint
CREATE TABLE `oauth_sign_ins` (
	`hash` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`credential_id` text NOT NULL,
	`scopes` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `oauth_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`grant_id` text NOT NULL,
	`scopes` text NOT NULL,
	`expires_at` integer NOT NULL,
	`successor` text,
	`parent` text
);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_grant` ON `oauth_tokens` (`grant_id`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_expiry` ON `oauth_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_parent` ON `oauth_tokens` (`parent`);--> statement-breakpoint
CREATE TABLE `roles` (
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`permissions` text NOT NULL,
	`modified_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `name`),
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `workspaces` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`settings` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `assistant_versions` (
	`workspace_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`version` integer NOT NULL,
	`graph_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `assistant_id`, `version`)
);
--> statement-breakpoint
CREATE TABLE `assistants` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`version` integer NOT NULL,
	`graph_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `assistants_created` ON `assistants` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `assistants_graph` ON `assistants` (`workspace_id`,`graph_id`);--> statement-breakpoint
CREATE TABLE `store_items` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`workspace_id` text NOT NULL,
	`namespace` text NOT NULL,
	`key` text NOT NULL,
	`value` text NOT NULL,
	`text` text,
	`ttl_minutes` integer,
	`expires_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `store_items_key` ON `store_items` (`workspace_id`,`namespace`,`key`);--> statement-breakpoint
CREATE INDEX `store_items_expiry` ON `store_items` (`expires_at`);--> statement-breakpoint
CREATE TABLE `store_vectors` (
	`item_id` integer NOT NULL,
	`vector` text NOT NULL,
	FOREIGN KEY (`item_id`) REFERENCES `store_items`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `store_vectors_item` ON `store_vectors` (`item_id`);--> statement-breakpoint
CREATE TABLE `prompt_commits` (
	`id` text PRIMARY KEY NOT NULL,
	`prompt_id` text NOT NULL,
	`number` integer NOT NULL,
	`hash` text NOT NULL,
	`parent_id` text,
	`parent_hash` text,
	`manifest` text NOT NULL,
	`description` text,
	`author` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_commits_number` ON `prompt_commits` (`prompt_id`,`number`);--> statement-breakpoint
CREATE UNIQUE INDEX `prompt_commits_hash` ON `prompt_commits` (`prompt_id`,`hash`);--> statement-breakpoint
CREATE TABLE `prompt_likes` (
	`prompt_id` text NOT NULL,
	`person` text NOT NULL,
	PRIMARY KEY(`prompt_id`, `person`)
);
--> statement-breakpoint
CREATE TABLE `prompt_tags` (
	`id` text NOT NULL,
	`prompt_id` text NOT NULL,
	`name` text NOT NULL,
	`commit_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`prompt_id`, `name`)
);
--> statement-breakpoint
CREATE TABLE `prompts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`about` text NOT NULL,
	`labels` text NOT NULL,
	`is_archived` integer DEFAULT false NOT NULL,
	`commits` integer DEFAULT 0 NOT NULL,
	`last_hash` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `prompts_name` ON `prompts` (`workspace_id`,`name`);--> statement-breakpoint
CREATE INDEX `prompts_updated` ON `prompts` (`workspace_id`,`updated_at`);--> statement-breakpoint
CREATE TABLE `alert_events` (
	`alert_id` text NOT NULL,
	`at` integer NOT NULL,
	`from` text NOT NULL,
	`to` text NOT NULL,
	`value` real,
	`pending` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_at` integer,
	`error` text,
	PRIMARY KEY(`alert_id`, `at`)
);
--> statement-breakpoint
CREATE INDEX `alert_events_next` ON `alert_events` (`next_at`);--> statement-breakpoint
CREATE INDEX `alert_events_at` ON `alert_events` (`at`);--> statement-breakpoint
CREATE TABLE `alerts` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`name` text NOT NULL,
	`filter` text,
	`is_enabled` integer NOT NULL,
	`condition` text NOT NULL,
	`channels` text NOT NULL,
	`secrets` text,
	`state` text NOT NULL,
	`streak` integer NOT NULL,
	`value` real,
	`changed_at` integer NOT NULL,
	`evaluated_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `alerts_workspace` ON `alerts` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `alerts_due` ON `alerts` (`is_enabled`,`evaluated_at`);--> statement-breakpoint
CREATE TABLE `cron_firings` (
	`workspace_id` text NOT NULL,
	`cron_id` text NOT NULL,
	`due` integer NOT NULL,
	`state` text NOT NULL,
	`touched_at` integer NOT NULL,
	PRIMARY KEY(`cron_id`, `due`)
);
--> statement-breakpoint
CREATE INDEX `cron_firings_state` ON `cron_firings` (`state`,`touched_at`);--> statement-breakpoint
CREATE TABLE `crons` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`thread_id` text,
	`schedule` text NOT NULL,
	`timezone` text,
	`end_time` integer,
	`next_run_date` integer,
	`enabled` integer NOT NULL,
	`on_run_completed` text,
	`payload` text NOT NULL,
	`metadata` text NOT NULL,
	`user_id` text,
	`user` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `crons_workspace` ON `crons` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `crons_due` ON `crons` (`enabled`,`next_run_date`);--> statement-breakpoint
CREATE INDEX `crons_thread` ON `crons` (`workspace_id`,`thread_id`);--> statement-breakpoint
CREATE TABLE `rule_backfill_parts` (
	`backfill_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer NOT NULL,
	PRIMARY KEY(`backfill_id`, `day`, `shard`)
);
--> statement-breakpoint
CREATE TABLE `rule_backfills` (
	`id` text PRIMARY KEY NOT NULL,
	`rule_id` text NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer NOT NULL,
	`created_at` integer NOT NULL,
	`touched_at` integer NOT NULL,
	`completed_at` integer
);
--> statement-breakpoint
CREATE INDEX `rule_backfills_rule` ON `rule_backfills` (`rule_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `rule_failures` (
	`rule_id` text NOT NULL,
	`run_id` text NOT NULL,
	`action` text NOT NULL,
	`error` text NOT NULL,
	`at` integer NOT NULL,
	`is_final` integer NOT NULL,
	PRIMARY KEY(`rule_id`, `run_id`)
);
--> statement-breakpoint
CREATE INDEX `rule_failures_time` ON `rule_failures` (`rule_id`,`at`);--> statement-breakpoint
CREATE INDEX `rule_failures_at` ON `rule_failures` (`at`);--> statement-breakpoint
CREATE TABLE `rule_parts` (
	`rule_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer NOT NULL,
	`change` integer NOT NULL,
	`taken` integer NOT NULL,
	`done` integer NOT NULL,
	`failed` integer NOT NULL,
	`cost` real NOT NULL,
	`touched_at` integer NOT NULL,
	PRIMARY KEY(`rule_id`, `day`, `shard`)
);
--> statement-breakpoint
CREATE INDEX `rule_parts_waiting` ON `rule_parts` (`touched_at`) WHERE "rule_parts"."taken" > "rule_parts"."done" + "rule_parts"."failed";--> statement-breakpoint
CREATE TABLE `run_rules` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`name` text NOT NULL,
	`filter` text,
	`trace_filter` text,
	`tree_filter` text,
	`sampling_rate` real NOT NULL,
	`is_enabled` integer NOT NULL,
	`actions` text NOT NULL,
	`secrets` text,
	`since` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `run_rules_workspace` ON `run_rules` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `webhook_secrets` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`sealed` text NOT NULL,
	`hint` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `webhook_secrets_workspace` ON `webhook_secrets` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `webhook_secrets_expiry` ON `webhook_secrets` (`expires_at`);--> statement-breakpoint
CREATE TABLE `bulk_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`destination_id` text NOT NULL,
	`session_id` text,
	`all_experiments` integer NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer,
	`filter` text,
	`format_version` text NOT NULL,
	`compression` text NOT NULL,
	`interval_hours` integer,
	`export_fields` text,
	`status` text NOT NULL,
	`error` text,
	`source_export_id` text,
	`spawned` integer DEFAULT 0 NOT NULL,
	`planned_at` integer,
	`retries` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer DEFAULT 0 NOT NULL,
	`started_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`finished_at` integer
);
--> statement-breakpoint
CREATE INDEX `bulk_exports_workspace` ON `bulk_exports` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bulk_exports_status` ON `bulk_exports` (`status`);--> statement-breakpoint
CREATE INDEX `bulk_exports_destination` ON `bulk_exports` (`destination_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_exports_window` ON `bulk_exports` (`source_export_id`,`start_time`) WHERE source_export_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `export_destinations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`type` text NOT NULL,
	`display_name` text NOT NULL,
	`config` text NOT NULL,
	`credentials` text,
	`credentials_keys` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `export_destinations_workspace` ON `export_destinations` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `export_runs` (
	`export_id` text NOT NULL,
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`late` integer DEFAULT false NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer NOT NULL,
	`status` text NOT NULL,
	`retry_number` integer DEFAULT 0 NOT NULL,
	`errors` text,
	`shard` integer DEFAULT 0 NOT NULL,
	`seen` text,
	`since` text,
	`cursor` text,
	`files` text DEFAULT '[]' NOT NULL,
	`rows` integer DEFAULT 0 NOT NULL,
	`bytes` integer DEFAULT 0 NOT NULL,
	`pending` text,
	`epoch` integer DEFAULT 0 NOT NULL,
	`lease_until` integer,
	`sent_at` integer,
	`next_attempt_at` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`finished_at` integer,
	PRIMARY KEY(`export_id`, `project_id`, `day`, `late`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `export_runs_id_unique` ON `export_runs` (`id`);--> statement-breakpoint
CREATE INDEX `export_runs_export` ON `export_runs` (`export_id`,`status`,`sent_at`);--> statement-breakpoint
CREATE INDEX `export_runs_status` ON `export_runs` (`status`,`sent_at`);--> statement-breakpoint
CREATE TABLE `a2a_tasks` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`state` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `a2a_tasks_list` ON `a2a_tasks` (`workspace_id`,`assistant_id`,`updated_at`,`id`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`reference_dataset_id` text,
	`default_dataset_id` text,
	`trace_tier` text NOT NULL,
	`retention_days` integer,
	`legal_hold` integer DEFAULT false NOT NULL,
	`extra` text DEFAULT '{}' NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_name` ON `projects` (`workspace_id`,`name`);--> statement-breakpoint
CREATE INDEX `projects_dataset` ON `projects` (`workspace_id`,`reference_dataset_id`);--> statement-breakpoint
CREATE TABLE `trace_deletions` (
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`trace_id` text NOT NULL,
	`deleted_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `project_id`, `trace_id`)
);
--> statement-breakpoint
CREATE INDEX `trace_deletions_time` ON `trace_deletions` (`workspace_id`,`project_id`,`deleted_at`);--> statement-breakpoint
CREATE TABLE `trace_partitions` (
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer DEFAULT 0 NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	`last_run_start_time` integer NOT NULL,
	`changes` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`workspace_id`, `project_id`, `day`, `shard`)
);
--> statement-breakpoint
CREATE INDEX `trace_partitions_day` ON `trace_partitions` (`workspace_id`,`day`);--> statement-breakpoint
CREATE INDEX `trace_partitions_changes` ON `trace_partitions` (`workspace_id`,`project_id`,`changes`);--> statement-breakpoint
CREATE TABLE `comparative_experiments` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text,
	`description` text,
	`dataset_id` text NOT NULL,
	`experiment_ids` text NOT NULL,
	`extra` text NOT NULL,
	`created_at` integer NOT NULL,
	`modified_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `comparative_experiments_dataset` ON `comparative_experiments` (`workspace_id`,`dataset_id`);--> statement-breakpoint
CREATE TABLE `dataset_tags` (
	`workspace_id` text NOT NULL,
	`dataset_id` text NOT NULL,
	`tag` text NOT NULL,
	`as_of` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `dataset_id`, `tag`)
);
--> statement-breakpoint
CREATE TABLE `dataset_versions` (
	`workspace_id` text NOT NULL,
	`dataset_id` text NOT NULL,
	`as_of` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `dataset_id`, `as_of`)
);
--> statement-breakpoint
CREATE TABLE `datasets` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`data_type` text NOT NULL,
	`metadata` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`modified_at` integer NOT NULL,
	`inputs_schema` text,
	`outputs_schema` text,
	`examples_at` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `datasets_name` ON `datasets` (`workspace_id`,`name`);--> statement-breakpoint
CREATE TABLE `examples` (
	`workspace_id` text NOT NULL,
	`dataset_id` text NOT NULL,
	`id` text NOT NULL,
	`since` integer NOT NULL,
	`until` integer,
	`created_at` integer NOT NULL,
	`name` text,
	`inputs` text,
	`outputs` text,
	`inputs_hash` text,
	`outputs_hash` text,
	`metadata` text NOT NULL,
	`attachments` text NOT NULL,
	`source_run_id` text,
	PRIMARY KEY(`workspace_id`, `id`, `since`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `examples_current` ON `examples` (`workspace_id`,`id`) WHERE "examples"."until" is null;--> statement-breakpoint
CREATE INDEX `examples_dataset` ON `examples` (`workspace_id`,`dataset_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `feedback_configs` (
	`workspace_id` text NOT NULL,
	`key` text NOT NULL,
	`config` text NOT NULL,
	`is_lower_score_better` integer,
	`modified_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `key`)
);
--> statement-breakpoint
CREATE TABLE `feedback_places` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`shard` integer DEFAULT 0 NOT NULL,
	`run_id` text,
	`key` text NOT NULL,
	`source` text NOT NULL,
	`user_id` text,
	`has_score` integer NOT NULL,
	`has_comment` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `feedback_places_run` ON `feedback_places` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE INDEX `feedback_places_project` ON `feedback_places` (`workspace_id`,`project_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `feedback_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`sealed` text NOT NULL,
	`workspace_id` text NOT NULL,
	`run_id` text NOT NULL,
	`key` text NOT NULL,
	`config` text,
	`project_id` text,
	`start_time` integer,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `feedback_tokens_run` ON `feedback_tokens` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE INDEX `feedback_tokens_expires` ON `feedback_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `annotation_items` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`queue_id` text NOT NULL,
	`project_id` text NOT NULL,
	`run_id` text,
	`trace_id` text,
	`thread_id` text,
	`start_time` integer,
	`added_at` integer NOT NULL,
	`last_reviewed_at` integer,
	`completed_at` integer,
	`source_proposed_example_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `annotation_items_run` ON `annotation_items` (`queue_id`,`run_id`) WHERE "annotation_items"."run_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `annotation_items_thread` ON `annotation_items` (`queue_id`,`project_id`,`thread_id`) WHERE "annotation_items"."thread_id" is not null;--> statement-breakpoint
CREATE INDEX `annotation_items_order` ON `annotation_items` (`queue_id`,`added_at`,`id`);--> statement-breakpoint
CREATE INDEX `annotation_items_project` ON `annotation_items` (`workspace_id`,`project_id`,`trace_id`);--> statement-breakpoint
CREATE INDEX `annotation_items_of_run` ON `annotation_items` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE TABLE `annotation_queues` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`default_dataset` text,
	`reviewers` integer NOT NULL,
	`reservation_minutes` integer,
	`instructions` text,
	`rubric` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `annotation_queues_workspace` ON `annotation_queues` (`workspace_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `annotation_reviews` (
	`item_id` text NOT NULL,
	`reviewer` text NOT NULL,
	`queue_id` text NOT NULL,
	`status` text NOT NULL,
	`at` integer NOT NULL,
	`reserved_until` integer,
	`override_added_at` integer,
	PRIMARY KEY(`item_id`, `reviewer`)
);
--> statement-breakpoint
CREATE INDEX `annotation_reviews_queue` ON `annotation_reviews` (`queue_id`);--> statement-breakpoint
CREATE TABLE `shares` (
	`hash` text PRIMARY KEY NOT NULL,
	`sealed` text NOT NULL,
	`workspace_id` text NOT NULL,
	`kind` text NOT NULL,
	`target_id` text NOT NULL,
	`project_id` text,
	`created_at` integer NOT NULL,
	`expires_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `shares_target` ON `shares` (`workspace_id`,`kind`,`target_id`);
--> statement-breakpoint
-- Full-text search over the Store's items. External content: the text is kept once, in store_items.
CREATE VIRTUAL TABLE `store_text` USING fts5(
	`workspace_id`, `text`,
	content='store_items', content_rowid='id',
	tokenize='porter unicode61 remove_diacritics 2'
);
--> statement-breakpoint
CREATE TRIGGER `store_text_insert` AFTER INSERT ON `store_items` BEGIN
	INSERT INTO `store_text` (rowid, `workspace_id`, `text`) VALUES (new.id, new.workspace_id, new.text);
END;
--> statement-breakpoint
CREATE TRIGGER `store_text_delete` AFTER DELETE ON `store_items` BEGIN
	INSERT INTO `store_text` (`store_text`, rowid, `workspace_id`, `text`) VALUES ('delete', old.id, old.workspace_id, old.text);
END;
--> statement-breakpoint
CREATE TRIGGER `store_text_update` AFTER UPDATE OF `workspace_id`, `text` ON `store_items` BEGIN
	INSERT INTO `store_text` (`store_text`, rowid, `workspace_id`, `text`) VALUES ('delete', old.id, old.workspace_id, old.text);
	INSERT INTO `store_text` (rowid, `workspace_id`, `text`) VALUES (new.id, new.workspace_id, new.text);
END;
