PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_trace_partitions` (
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
INSERT INTO `__new_trace_partitions`("workspace_id", "project_id", "day", "shard", "rows", "bytes", "last_run_start_time", "changes") SELECT "workspace_id", "project_id", "day", 0, "rows", "bytes", "last_run_start_time", 0 FROM `trace_partitions`;--> statement-breakpoint
DROP TABLE `trace_partitions`;--> statement-breakpoint
ALTER TABLE `__new_trace_partitions` RENAME TO `trace_partitions`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `trace_partitions_day` ON `trace_partitions` (`workspace_id`,`day`);--> statement-breakpoint
CREATE TABLE `__new_export_runs` (
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
INSERT INTO `__new_export_runs`("export_id", "id", "workspace_id", "project_id", "day", "late", "start_time", "end_time", "status", "retry_number", "errors", "shard", "seen", "since", "cursor", "files", "rows", "bytes", "pending", "epoch", "lease_until", "sent_at", "next_attempt_at", "created_at", "updated_at", "finished_at") SELECT "export_id", "id", "workspace_id", "project_id", "day", false, "start_time", "end_time", "status", "retry_number", "errors", 0, NULL, NULL, "cursor", "files", "rows", "bytes", "pending", "epoch", "lease_until", "sent_at", "next_attempt_at", "created_at", "updated_at", "finished_at" FROM `export_runs`;--> statement-breakpoint
DROP TABLE `export_runs`;--> statement-breakpoint
ALTER TABLE `__new_export_runs` RENAME TO `export_runs`;--> statement-breakpoint
CREATE UNIQUE INDEX `export_runs_id_unique` ON `export_runs` (`id`);--> statement-breakpoint
CREATE INDEX `export_runs_export` ON `export_runs` (`export_id`,`status`,`sent_at`);--> statement-breakpoint
CREATE INDEX `export_runs_status` ON `export_runs` (`status`,`sent_at`);--> statement-breakpoint
ALTER TABLE `feedback_places` ADD `shard` integer DEFAULT 0 NOT NULL;