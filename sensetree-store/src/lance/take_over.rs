//! One store in place of another.

use arrow_schema::ArrowError;
use futures::TryStreamExt;
use lancedb::{arrow::SimpleRecordBatchStream, database::CreateTableMode, query::ExecutableQuery};
use sensetree_core::Result;

use super::{LanceStore, TABLE, connect};

impl LanceStore {
    /// Takes over what `other` holds, and its model, in place of all that this store holds, in one commit: readers see the old
    /// store or the new one, and a process that is killed leaves the old one.
    ///
    /// Handles of the old model, in any process, then refuse to search by meaning and to write. `other` stays as it is; changes to it
    /// meanwhile may be missed. [`maintain`](sensetree_core::Store::maintain) makes the indexes anew.
    ///
    /// # Errors
    /// [`Error::FingerprintMismatch`](sensetree_core::Error::FingerprintMismatch) when somebody else was faster,
    /// [`Error::Store`](sensetree_core::Error::Store) when LanceDB cannot read or write.
    pub async fn take_over(self, other: &Self) -> Result<Self> {
        let _turns = (self.upkeep().await?, self.turn().await?);
        let schema = other.table.schema().await.map_err(other.failed("read"))?;
        let rows = other.table.query().execute().await.map_err(other.failed("read"))?;
        // What a query gives is not sure to have the schema's metadata, in which the model is.
        let of_schema = schema.clone();
        let rows = rows.and_then(move |batch| {
            let batch = batch.with_schema(of_schema.clone());
            futures::future::ready(batch.map_err(|source: ArrowError| lancedb::Error::Arrow { source }))
        });
        let rows: lancedb::arrow::SendableRecordBatchStream = Box::pin(SimpleRecordBatchStream { schema, stream: rows });
        let connection = connect(&self.path).await?;
        let table = connection.create_table(TABLE, rows).mode(CreateTableMode::Overwrite).execute().await;
        Self::of(self.path.clone(), table.map_err(self.failed("write to"))?).await
    }
}
