CREATE TABLE `trace_deletions` (
	`workspace_id` text NOT NULL,
	`project_id` text NOT NULL,
	`trace_id` text NOT NULL,
	`deleted_at` integer NOT NULL,
	PRIMARY KEY(`workspace_id`, `project_id`, `trace_id`)
);
--> statement-breakpoint
CREATE INDEX `trace_deletions_time` ON `trace_deletions` (`workspace_id`,`project_id`,`deleted_at`);--> statement-breakpoint
ALTER TABLE `projects` ADD `retention_days` integer;--> statement-breakpoint
ALTER TABLE `projects` ADD `legal_hold` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `shares` ADD `expires_at` integer;