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
	`start_time` integer NOT NULL,
	`end_time` integer NOT NULL,
	`status` text NOT NULL,
	`retry_number` integer DEFAULT 0 NOT NULL,
	`errors` text,
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
	PRIMARY KEY(`export_id`, `project_id`, `day`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `export_runs_id_unique` ON `export_runs` (`id`);--> statement-breakpoint
CREATE INDEX `export_runs_export` ON `export_runs` (`export_id`,`status`,`sent_at`);--> statement-breakpoint
CREATE INDEX `export_runs_status` ON `export_runs` (`status`,`sent_at`);