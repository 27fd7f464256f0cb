// A store of Logstow in Azure: account, both containers, identities with the roles of docs/security.md, and what is optional: federated
// credentials for AKS, private endpoints, a lifecycle rule, Container Apps jobs. docs/deployment.md shows how to deploy it.
targetScope = 'resourceGroup'

@description('Name of the storage account.')
@minLength(3)
@maxLength(24)
param account string

param location string = resourceGroup().location

@description('Redundancy of the account.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_GZRS', 'Standard_RAGZRS'])
param sku string = 'Standard_ZRS'

@description('Hierarchical namespace: directories with permissions of their own.')
param hierarchicalNamespace bool = false

@description('The container where shippers create segments. At most 53 characters: longer names of compacted containers are cut.')
@minLength(3)
@maxLength(53)
param container string = 'logs'

@description('Table of watches, for logq query -f: watches and the first 8 digits of the container name\'s SHA-256. Empty: none.')
param watchesTable string = container == 'logs' ? 'watches98f38f12' : ''

@description('Object IDs of the users, groups or identities that may read all logs.')
param readers array = []

@description('Type of the readers.')
@allowed(['User', 'Group', 'ServicePrincipal'])
param readersType string = 'Group'

@description('Object IDs of the readers that may also make shippers flush early (docs/security.md, Watches).')
param watchers array = []

@description('OIDC issuer of an AKS cluster whose service accounts use the identities. Empty: none.')
param oidcIssuer string = ''

@description('Namespace of the chart\'s release in that cluster.')
param namespace string = 'logstow'

@description('Subnet of private endpoints. Empty: none, and the account is reached publicly.')
param subnetId string = ''

@description('Private DNS zones by service: blob, table, and dfs with a hierarchical namespace.')
param privateDnsZoneIds object = {}

@description('Days after which compacted segments move to the cool tier, which charges at least 30 days. 0: never.')
@minValue(0)
param coolAfterDays int = 0

@description('Container Apps environment of the jobs compact and retain. Empty: none, they run elsewhere.')
param environmentId string = ''

@description('Image of shipper, for the jobs.')
param image string = ''

@description('Retention of the default class, for the job retain.')
param keep string = '30d'

param tags object = {}

// Built-in roles.
var roles = {
  blobContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe' // Storage Blob Data Contributor
  blobReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1' // Storage Blob Data Reader
  tableContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3' // Storage Table Data Contributor
  tableReader: '76199698-9eea-4c19-bc75-cec21354c6b6' // Storage Table Data Reader
  reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7' // Reader
}

// One identity for each program. Only compact and retain write to the compacted container.
var programs = [
  { name: 'shipper', raw: roles.blobContributor, compacted: '', table: roles.tableContributor }
  { name: 'relay', raw: roles.blobContributor, compacted: '', table: roles.tableContributor }
  { name: 'compact', raw: roles.blobContributor, compacted: roles.blobContributor, table: roles.tableContributor }
  { name: 'retain', raw: roles.blobContributor, compacted: roles.blobContributor, table: roles.tableContributor }
  { name: 'verify', raw: roles.blobReader, compacted: roles.blobReader, table: roles.tableReader }
  { name: 'export', raw: roles.blobReader, compacted: roles.blobReader, table: roles.tableReader }
  { name: 'serve', raw: roles.blobReader, compacted: roles.blobReader, table: roles.tableReader }
]

// Of the programs that have them: indexes of loops must be known at the start.
var compactedPrograms = filter(range(0, length(programs)), i => programs[i].compacted != '')

var geoReplicated = contains(sku, 'RAG')
var services = hierarchicalNamespace ? ['blob', 'table', 'dfs'] : ['blob', 'table']

resource store 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: account
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: sku }
  properties: {
    accessTier: 'Hot'
    isHnsEnabled: hierarchicalNamespace
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    allowBlobPublicAccess: false
    // Identities only. shipper grant, which signs with the account's key, needs true.
    allowSharedKeyAccess: false
    publicNetworkAccess: subnetId == '' ? 'Enabled' : 'Disabled'
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' = {
  parent: store
  name: 'default'
}

resource raw 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' = {
  parent: blobs
  name: container
}

resource compacted 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' = {
  parent: blobs
  name: '${container}-compacted'
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2023-05-01' = {
  parent: store
  name: 'default'
}

// Tables of the index are created by shippers, one for each day.
resource watches 'Microsoft.Storage/storageAccounts/tableServices/tables@2023-05-01' = if (watchesTable != '') {
  parent: tables
  name: watchesTable == '' ? 'watches' : watchesTable
}

resource identities 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = [
  for p in programs: {
    name: 'logstow-${p.name}'
    location: location
    tags: tags
  }
]

resource federated 'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2023-01-31' = [
  for (p, i) in programs: if (oidcIssuer != '') {
    parent: identities[i]
    name: 'logstow-${p.name}'
    properties: {
      issuer: oidcIssuer
      subject: 'system:serviceaccount:${namespace}:logstow-${p.name}'
      audiences: ['api://AzureADTokenExchange']
    }
  }
]

resource rawRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (p, i) in programs: {
    scope: raw
    name: guid(raw.id, p.name, p.raw)
    properties: {
      principalId: identities[i].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', p.raw)
    }
  }
]

resource compactedRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for i in compactedPrograms: {
    scope: compacted
    name: guid(compacted.id, programs[i].name, programs[i].compacted)
    properties: {
      principalId: identities[i].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', programs[i].compacted)
    }
  }
]

resource tableRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (p, i) in programs: {
    scope: store
    name: guid(store.id, p.name, p.table)
    properties: {
      principalId: identities[i].properties.principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', p.table)
    }
  }
]

// Compaction removes nothing that is newer than the last synchronization with the second region, which it reads from the account.
resource syncRole 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (geoReplicated) {
  scope: store
  name: guid(store.id, 'compact', roles.reader)
  properties: {
    principalId: identities[2].properties.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.reader)
  }
}

resource readRaw 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for id in readers: {
    scope: raw
    name: guid(raw.id, id, roles.blobReader)
    properties: {
      principalId: id
      principalType: readersType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.blobReader)
    }
  }
]

resource readCompacted 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for id in readers: {
    scope: compacted
    name: guid(compacted.id, id, roles.blobReader)
    properties: {
      principalId: id
      principalType: readersType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.blobReader)
    }
  }
]

resource readTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for id in readers: {
    scope: store
    name: guid(store.id, id, roles.tableReader)
    properties: {
      principalId: id
      principalType: readersType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.tableReader)
    }
  }
]

// On this table alone, never on the account, where the role would allow changing the index.
resource watchRoles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for id in watchers: if (watchesTable != '') {
    scope: watches
    name: guid(watches.id, id, roles.tableContributor)
    properties: {
      principalId: id
      principalType: readersType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.tableContributor)
    }
  }
]

// Rules move blobs only. shipper retain deletes: it knows classes and the index.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2023-05-01' = if (coolAfterDays > 0) {
  parent: store
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'cool'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: { blobTypes: ['blockBlob'], prefixMatch: ['${compacted.name}/'] }
            actions: { baseBlob: { tierToCool: { daysAfterCreationGreaterThan: coolAfterDays } } }
          }
        }
      ]
    }
  }
}

resource endpoints 'Microsoft.Network/privateEndpoints@2023-11-01' = [
  for service in services: if (subnetId != '') {
    name: '${account}-${service}'
    location: location
    tags: tags
    properties: {
      subnet: { id: subnetId }
      privateLinkServiceConnections: [
        { name: service, properties: { privateLinkServiceId: store.id, groupIds: [service] } }
      ]
    }
  }
]

resource zones 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2023-11-01' = [
  for (service, i) in services: if (subnetId != '' && contains(privateDnsZoneIds, service)) {
    parent: endpoints[i]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [{ name: service, properties: { privateDnsZoneId: privateDnsZoneIds[service] } }]
    }
  }
]

var jobs = [
  { name: 'compact', identity: 2, schedule: '37 * * * *', timeout: 10800, args: ['compact', '--temp-dir', '/tmp', '-o', 'json'] }
  { name: 'retain', identity: 3, schedule: '17 2 * * *', timeout: 14400, args: ['retain', '--keep', keep, '-o', 'json'] }
]

resource maintenance 'Microsoft.App/jobs@2024-03-01' = [
  for j in jobs: if (environmentId != '') {
    name: 'logstow-${j.name}'
    location: location
    tags: tags
    identity: {
      type: 'UserAssigned'
      userAssignedIdentities: { '${identities[j.identity].id}': {} }
    }
    properties: {
      environmentId: environmentId
      configuration: {
        triggerType: 'Schedule'
        replicaTimeout: j.timeout
        replicaRetryLimit: 2
        scheduleTriggerConfig: { cronExpression: j.schedule, parallelism: 1, replicaCompletionCount: 1 }
      }
      template: {
        containers: [
          {
            name: j.name
            image: image
            args: j.args
            resources: { cpu: json('0.25'), memory: '0.5Gi' }
            env: [
              { name: 'LOGSTOW_STORE', value: 'azblob://${container}' }
              { name: 'AZURE_STORAGE_ACCOUNT', value: account }
              { name: 'AZURE_CLIENT_ID', value: identities[j.identity].properties.clientId }
            ]
            volumeMounts: [{ volumeName: 'tmp', mountPath: '/tmp' }]
          }
        ]
        volumes: [{ name: 'tmp', storageType: 'EmptyDir' }]
      }
    }
  }
]

output storageAccountId string = store.id

@description('Client IDs for the chart\'s value identities, in the order of the programs.')
output clientIds array = [for (p, i) in programs: { program: p.name, clientId: identities[i].properties.clientId }]
