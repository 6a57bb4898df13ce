CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_workspace` ON `api_keys` (`workspace_id`);--> statement-breakpoint
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
CREATE TABLE `datasets` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`data_type` text NOT NULL,
	`metadata` text DEFAULT '{}' NOT NULL,
	`created_at` integer NOT NULL,
	`modified_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `datasets_name` ON `datasets` (`workspace_id`,`name`);--> statement-breakpoint
CREATE TABLE `feedback_places` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`run_id` text,
	`key` text NOT NULL,
	`source` text NOT NULL,
	`has_score` integer NOT NULL,
	`has_comment` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `feedback_places_run` ON `feedback_places` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE INDEX `feedback_places_project` ON `feedback_places` (`workspace_id`,`project_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`reference_dataset_id` text,
	`default_dataset_id` text,
	`trace_tier` text NOT NULL,
	`extra` text DEFAULT '{}' NOT NULL,
	`start_time` integer NOT NULL,
	`end_time` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_name` ON `projects` (`workspace_id`,`name`);--> statement-breakpoint
CREATE INDEX `projects_dataset` ON `projects` (`workspace_id`,`reference_dataset_id`);--> statement-breakpoint
CREATE TABLE `trace_partitions` (
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	`last_run_start_time` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `project_id`, `day`)
);
--> statement-breakpoint
CREATE INDEX `trace_partitions_day` ON `trace_partitions` (`workspace_id`,`day`);--> statement-breakpoint
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
	`successor` text
);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_grant` ON `oauth_tokens` (`grant_id`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_expiry` ON `oauth_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text,
	`at` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`action` text NOT NULL,
	`target_id` text NOT NULL,
	`detail` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_log_workspace` ON `audit_log` (`workspace_id`,`at`);--> statement-breakpoint
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
CREATE TABLE `idempotency_keys` (
	`workspace_id` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`status` integer,
	`headers` text,
	`body` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `key`)
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `threads` (
	`workspace_id` text NOT NULL,
	`id` text NOT NULL,
	`status` text NOT NULL,
	`metadata` text NOT NULL,
	`config` text NOT NULL,
	`values` text,
	`has_values` integer NOT NULL,
	`interrupts` text NOT NULL,
	`error` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`state_updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `id`)
);
--> statement-breakpoint
CREATE INDEX `threads_created` ON `threads` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `threads_updated` ON `threads` (`workspace_id`,`updated_at`);--> statement-breakpoint
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
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `crons_workspace` ON `crons` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `crons_due` ON `crons` (`enabled`,`next_run_date`);