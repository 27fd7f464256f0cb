# A store of Logstow in Azure: account, both containers, identities with the roles of docs/security.md, and what is optional: federated
# credentials for AKS, private endpoints, a lifecycle rule, Container Apps jobs. docs/deployment.md shows how to apply it.
terraform {
  required_version = ">= 1.5"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 4.9, < 5.0"
    }
  }
}

provider "azurerm" {
  # Identities only, as the account allows no key.
  storage_use_azuread = true
  features {}
}

data "azurerm_resource_group" "this" {
  name = var.resource_group_name
}

locals {
  location = data.azurerm_resource_group.this.location
  services = var.hierarchical_namespace ? ["blob", "table", "dfs"] : ["blob", "table"]
  # One identity for each program. Only compact and retain write to the compacted container.
  programs = {
    shipper = { raw = "Storage Blob Data Contributor", compacted = "", table = "Storage Table Data Contributor" }
    relay   = { raw = "Storage Blob Data Contributor", compacted = "", table = "Storage Table Data Contributor" }
    compact = { raw = "Storage Blob Data Contributor", compacted = "Storage Blob Data Contributor", table = "Storage Table Data Contributor" }
    retain  = { raw = "Storage Blob Data Contributor", compacted = "Storage Blob Data Contributor", table = "Storage Table Data Contributor" }
    verify  = { raw = "Storage Blob Data Reader", compacted = "Storage Blob Data Reader", table = "Storage Table Data Reader" }
    export  = { raw = "Storage Blob Data Reader", compacted = "Storage Blob Data Reader", table = "Storage Table Data Reader" }
    serve   = { raw = "Storage Blob Data Reader", compacted = "Storage Blob Data Reader", table = "Storage Table Data Reader" }
  }
  jobs = var.container_app_environment_id == "" ? {} : {
    compact = { schedule = "37 * * * *", timeout = 10800, args = ["compact", "--temp-dir", "/tmp", "-o", "json"] }
    retain  = { schedule = "17 2 * * *", timeout = 14400, args = ["retain", "--keep", var.keep, "-o", "json"] }
  }
}

resource "azurerm_storage_account" "store" {
  name                            = var.account
  resource_group_name             = var.resource_group_name
  location                        = local.location
  account_kind                    = "StorageV2"
  account_tier                    = "Standard"
  account_replication_type        = var.replication
  access_tier                     = "Hot"
  is_hns_enabled                  = var.hierarchical_namespace
  min_tls_version                 = "TLS1_2"
  https_traffic_only_enabled      = true
  allow_nested_items_to_be_public = false
  # Identities only. shipper grant, which signs with the account's key, needs true.
  shared_access_key_enabled     = false
  public_network_access_enabled = var.subnet_id == ""
  tags                          = var.tags
}

resource "azurerm_storage_container" "raw" {
  name               = var.container
  storage_account_id = azurerm_storage_account.store.id
}

resource "azurerm_storage_container" "compacted" {
  name               = "${var.container}-compacted"
  storage_account_id = azurerm_storage_account.store.id
}

# Tables of the index are created by shippers, one for each day. This one is created through the table service: whoever applies the
# module needs the role Storage Table Data Contributor and, with private endpoints, access to them.
resource "azurerm_storage_table" "watches" {
  name                 = "watches${substr(sha256(var.container), 0, 8)}"
  storage_account_name = azurerm_storage_account.store.name
}

resource "azurerm_user_assigned_identity" "program" {
  for_each            = local.programs
  name                = "logstow-${each.key}"
  resource_group_name = var.resource_group_name
  location            = local.location
  tags                = var.tags
}

resource "azurerm_federated_identity_credential" "program" {
  for_each            = var.oidc_issuer == "" ? {} : local.programs
  name                = "logstow-${each.key}"
  resource_group_name = var.resource_group_name
  parent_id           = azurerm_user_assigned_identity.program[each.key].id
  issuer              = var.oidc_issuer
  subject             = "system:serviceaccount:${var.namespace}:logstow-${each.key}"
  audience            = ["api://AzureADTokenExchange"]
}

resource "azurerm_role_assignment" "raw" {
  for_each             = local.programs
  scope                = azurerm_storage_container.raw.resource_manager_id
  role_definition_name = each.value.raw
  principal_id         = azurerm_user_assigned_identity.program[each.key].principal_id
  principal_type       = "ServicePrincipal"
}

resource "azurerm_role_assignment" "compacted" {
  for_each             = { for name, p in local.programs : name => p if p.compacted != "" }
  scope                = azurerm_storage_container.compacted.resource_manager_id
  role_definition_name = each.value.compacted
  principal_id         = azurerm_user_assigned_identity.program[each.key].principal_id
  principal_type       = "ServicePrincipal"
}

resource "azurerm_role_assignment" "table" {
  for_each             = local.programs
  scope                = azurerm_storage_account.store.id
  role_definition_name = each.value.table
  principal_id         = azurerm_user_assigned_identity.program[each.key].principal_id
  principal_type       = "ServicePrincipal"
}

# Compaction removes nothing that is newer than the last synchronization with the second region, which it reads from the account.
resource "azurerm_role_assignment" "sync" {
  count                = startswith(var.replication, "RAG") ? 1 : 0
  scope                = azurerm_storage_account.store.id
  role_definition_name = "Reader"
  principal_id         = azurerm_user_assigned_identity.program["compact"].principal_id
  principal_type       = "ServicePrincipal"
}

resource "azurerm_role_assignment" "read_raw" {
  for_each             = var.readers
  scope                = azurerm_storage_container.raw.resource_manager_id
  role_definition_name = "Storage Blob Data Reader"
  principal_id         = each.value
}

resource "azurerm_role_assignment" "read_compacted" {
  for_each             = var.readers
  scope                = azurerm_storage_container.compacted.resource_manager_id
  role_definition_name = "Storage Blob Data Reader"
  principal_id         = each.value
}

resource "azurerm_role_assignment" "read_tables" {
  for_each             = var.readers
  scope                = azurerm_storage_account.store.id
  role_definition_name = "Storage Table Data Reader"
  principal_id         = each.value
}

# On this table alone, never on the account, where the role would allow changing the index.
resource "azurerm_role_assignment" "watch" {
  for_each             = var.watchers
  scope                = "${azurerm_storage_account.store.id}/tableServices/default/tables/${azurerm_storage_table.watches.name}"
  role_definition_name = "Storage Table Data Contributor"
  principal_id         = each.value
}

# Rules move blobs only. shipper retain deletes: it knows classes and the index.
resource "azurerm_storage_management_policy" "cool" {
  count              = var.cool_after_days > 0 ? 1 : 0
  storage_account_id = azurerm_storage_account.store.id
  rule {
    name    = "cool"
    enabled = true
    filters {
      blob_types   = ["blockBlob"]
      prefix_match = ["${azurerm_storage_container.compacted.name}/"]
    }
    actions {
      base_blob {
        tier_to_cool_after_days_since_creation_greater_than = var.cool_after_days
      }
    }
  }
}

resource "azurerm_private_endpoint" "service" {
  for_each            = var.subnet_id == "" ? [] : toset(local.services)
  name                = "${var.account}-${each.value}"
  resource_group_name = var.resource_group_name
  location            = local.location
  subnet_id           = var.subnet_id
  tags                = var.tags
  private_service_connection {
    name                           = each.value
    private_connection_resource_id = azurerm_storage_account.store.id
    subresource_names              = [each.value]
    is_manual_connection           = false
  }
  dynamic "private_dns_zone_group" {
    for_each = contains(keys(var.private_dns_zone_ids), each.value) ? [var.private_dns_zone_ids[each.value]] : []
    content {
      name                 = "default"
      private_dns_zone_ids = [private_dns_zone_group.value]
    }
  }
}

resource "azurerm_container_app_job" "maintenance" {
  for_each                     = local.jobs
  name                         = "logstow-${each.key}"
  resource_group_name          = var.resource_group_name
  location                     = local.location
  container_app_environment_id = var.container_app_environment_id
  replica_timeout_in_seconds   = each.value.timeout
  replica_retry_limit          = 2
  tags                         = var.tags
  schedule_trigger_config {
    cron_expression          = each.value.schedule
    parallelism              = 1
    replica_completion_count = 1
  }
  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.program[each.key].id]
  }
  template {
    container {
      name   = each.key
      image  = var.image
      args   = each.value.args
      cpu    = 0.25
      memory = "0.5Gi"
      env {
        name  = "LOGSTOW_STORE"
        value = "azblob://${var.container}"
      }
      env {
        name  = "AZURE_STORAGE_ACCOUNT"
        value = azurerm_storage_account.store.name
      }
      env {
        name  = "AZURE_CLIENT_ID"
        value = azurerm_user_assigned_identity.program[each.key].client_id
      }
      volume_mounts {
        name = "tmp"
        path = "/tmp"
      }
    }
    volume {
      name         = "tmp"
      storage_type = "EmptyDir"
    }
  }
}

output "storage_account_id" {
  description = "ID of the account."
  value       = azurerm_storage_account.store.id
}

output "client_ids" {
  description = "The chart's value identities: client IDs by program."
  value       = { for name, identity in azurerm_user_assigned_identity.program : name => identity.client_id }
}
