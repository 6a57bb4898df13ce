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
CREATE TABLE `shares` (
	`hash` text PRIMARY KEY NOT NULL,
	`sealed` text NOT NULL,
	`workspace_id` text NOT NULL,
	`kind` text NOT NULL,
	`target_id` text NOT NULL,
	`project_id` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `shares_target` ON `shares` (`workspace_id`,`kind`,`target_id`);--> statement-breakpoint
ALTER TABLE `datasets` ADD `inputs_schema` text;--> statement-breakpoint
ALTER TABLE `datasets` ADD `outputs_schema` text;--> statement-breakpoint
ALTER TABLE `datasets` ADD `examples_at` integer DEFAULT 0 NOT NULL;