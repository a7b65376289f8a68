CREATE TABLE `refusals` (
	`site_id` integer NOT NULL,
	`request_id` text NOT NULL,
	`at` integer NOT NULL,
	`appid` text NOT NULL,
	`operation` text NOT NULL,
	`status` integer NOT NULL,
	`reason` text NOT NULL,
	`detail` text,
	`secret` text,
	`client` text,
	`skipped` integer NOT NULL,
	PRIMARY KEY(`site_id`, `request_id`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `audit_log` ADD `request_id` text;--> statement-breakpoint
ALTER TABLE `nonces` ADD `operation` text;--> statement-breakpoint
ALTER TABLE `nonces` ADD `secret` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `request_id` text;