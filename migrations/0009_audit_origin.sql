ALTER TABLE `audit_log` ADD `address` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `user_agent` text;