"""What shadows take over from homes of earlier versions, by Spark, once."""
